// A call of a library's function goes through the shim as it came: registers and stack reach the real function
// untouched, so that no signature need be right for the program to work. What the catalog says of the parameters is
// only for what is recorded.
#include "library_call.h"

#include <string.h>

#include <new>

#include "call.h"
#include "driver.h"
#include "libraries.h"
#include "library_handles.h"
#include "process.h"

namespace cuvet {

namespace {

constexpr int FLOATING_REGISTERS = 8;
constexpr int MOST_PARAMETERS = 48;
constexpr int MOST_STRUCTS = 2;
constexpr uint32_t ENTRANCE_BYTES = 16;
constexpr uint32_t ASKED = 0x8000;  // in the number that an entrance hands over
constexpr uint32_t NOT_FOUND = 1;   // an error to every library
constexpr uint32_t MOST_TRANSIENT = 256;
static_assert(LIBRARY_SYMBOL_COUNT < ASKED);

// On the stack while the real function runs. The entrances write the registers.
struct Frame {
    uint64_t integers[INTEGER_REGISTERS];
    uint64_t floating[FLOATING_REGISTERS];
    const uint64_t* stack;  // arguments of the caller
    Thread* thread;         // null: the call is not looked at
    const EntryPoint* shape;
    uint16_t symbol;
    bool emulated;  // the emulated device answers
    bool is_quiet;  // `quiet` stands for it; else `call`, and all that follows is filled
    QuietCall quiet;
    EntryPoint entry_point;
    uint64_t words[MOST_PARAMETERS];
    Blob structs[MOST_STRUCTS + 1];
    alignas(Call) char call[sizeof(Call)];
};
constexpr uint64_t FRAME_BYTES = 1536;  // as the assembly below has it
static_assert(sizeof(Frame) <= FRAME_BYTES && alignof(Frame) <= 16);

struct Reader {
    const Frame* frame;
    int integers, floating, on_stack;

    const uint64_t* integer() {
        return integers < INTEGER_REGISTERS ? &frame->integers[integers++] : &frame->stack[on_stack++];
    }
    const uint64_t* number() {
        return floating < FLOATING_REGISTERS ? &frame->floating[floating++] : &frame->stack[on_stack++];
    }
    const void* structure(int words) {
#if defined(__x86_64__)
        const void* at = &frame->stack[on_stack];
        on_stack += words;
        return at;
#else
        (void)words;
        return reinterpret_cast<const void*>(*integer());
#endif
    }
};

uint64_t low_half(uint64_t word) { return word & 0xffffffff; }

// `passing` has a letter for each parameter: w, i, u and b are integers of 8, 4 signed, 4 unsigned and 1 signed bytes;
// f and d floating; - none; and A to Z a struct of as many words as the letter is after A. Returns how many words are
// on the stack.
int read_arguments(const char* passing, Frame* frame) {
    Reader arguments = {frame, 0, 0, 0};
    Blob* structure = frame->structs;
    uint64_t* word = frame->words;
    for (const char* letter = passing; *letter; letter++, word++) {
        if (__builtin_expect(*letter == 'w', 1)) {
            *word = *arguments.integer();
            continue;
        }
        *word = 0;
        if (*letter == 'i') *word = static_cast<uint64_t>(static_cast<int32_t>(*arguments.integer()));
        if (*letter == 'b') *word = static_cast<uint64_t>(static_cast<int8_t>(*arguments.integer()));
        if (*letter == 'u') *word = low_half(*arguments.integer());
        if (*letter == 'd') *word = *arguments.number();
        if (*letter == 'f') *word = low_half(*arguments.number());
        if (*letter < 'A' || *letter > 'Z') continue;
        const int words = *letter - 'A';
        const void* data = arguments.structure(words);
        if (structure < frame->structs + MOST_STRUCTS)
            *structure++ = {static_cast<uint16_t>(word - frame->words), static_cast<uint32_t>(words) * 8, data};
    }
    *structure = {0, 0, nullptr};
    return arguments.on_stack;
}

bool asks_device(const EntryPoint& entry_point) { return entry_point.flags & EMULATED && is_emulated(); }

uint32_t answer_not_found() { return NOT_FOUND; }

const LibraryShape& shape_of(uint32_t symbol) { return library_shapes[library_symbols[symbol].shape]; }

uint32_t id_of(uint32_t symbol) { return entry_point_count + library_symbols[symbol].entry_point; }

// Fills what a Call needs. Returns how many words of the arguments are on the stack.
__attribute__((cold)) uint32_t describe(Frame* frame) {
    const LibraryShape& shape = shape_of(frame->symbol);
    frame->entry_point = shape.entry_point;
    frame->entry_point.id = static_cast<uint16_t>(id_of(frame->symbol));
    return static_cast<uint32_t>(read_arguments(shape.passing, frame));
}

// Frameworks make and destroy descriptors for every operation. The first of each place are stored, the others only
// looked after.
bool are_stored(const CallSite* site) { return site && site->stored.load(std::memory_order_relaxed) >= MOST_TRANSIENT; }

uint32_t place_of(const void* caller) {
    return static_cast<uint32_t>(reinterpret_cast<uint64_t>(caller) * 0x9E3779B97F4A7C15u >> 32) % PLACES;
}

// Null if there is no memory left.
CallSite* site_at(Place* place, uint64_t key) {
    if (!place->site || place->site->key.load(std::memory_order_relaxed) != key) {
        place->site = call_site(key);
        place->stamp = 0;
    }
    return place->site;
}

void enter(Thread* thread, uint32_t symbol, Frame* frame) {
    frame->thread = thread;
    __atomic_store_n(&thread->library_call, id_of(symbol), __ATOMIC_RELAXED);
}

bool enter_quietly(Thread* thread, Place* place, const EntryPoint& entry_point, Frame* frame) {
    if (!quiet_calls_pass || !(entry_point.flags & QUICK)) return false;
    const bool untold = entry_point.flags & MAKES_TRANSIENT && are_stored(place->site);
    const Busy busy(thread);
    return frame->quiet.enter(thread, entry_point, {frame->integers, frame->stack}, untold, place);
}

__attribute__((cold)) void enter_closely(Thread* thread, CallSite* site, Frame* frame) {
    const bool transient = frame->entry_point.flags & MAKES_TRANSIENT && !record_everything;
    const bool untold = transient && are_stored(site);
    if (transient && !untold && site) site->stored.fetch_add(1, std::memory_order_relaxed);
    const Busy busy(thread);
    const Entry entry = enter_with_handles(thread, frame->entry_point, frame->words);
    new (frame->call) Call(frame->entry_point, frame->words, frame->structs, thread, untold, entry);
}

// It was not worth storing, but for that it failed.
__attribute__((cold)) void look_again(Frame* frame) {
    describe(frame);
    const Busy busy(frame->thread);
    frame->quiet.fail();
    const bool untold = frame->entry_point.flags & MAKES_TRANSIENT;
    new (frame->call) Call(frame->entry_point, frame->words, frame->structs, frame->thread, untold, Entry{});
}

void leave(Frame* frame, uint32_t status) {
    Thread* thread = frame->thread;
    if (frame->is_quiet) {
        if (thread->busy) return;  // this is the child of a callback that forked
        if (__builtin_expect(status == 0, 1)) {
            const Busy busy(thread);
            thread->calls++;
            return frame->quiet.succeed(thread, *frame->shape, {frame->integers, frame->stack});
        }
        look_again(frame);
    }
    reinterpret_cast<Call*>(frame->call)->leave(status);
}

}  // namespace

// What the assembly does next: calls `function`, if there is one, with so many words of its caller's stack.
struct Passage {
    void* function;
    uint64_t stack_words;
};

extern "C" __attribute__((visibility("hidden"), used)) Passage cuvet_library_enter(uint32_t entrance, Frame* frame,
                                                                                   const uint64_t* stack,
                                                                                   const void* caller) {
    const uint32_t number = entrance & ~ASKED;
    Thread* thread = current_thread ? current_thread : start_thread();
    const uint64_t key = call_site_key(number, caller);
    // None while it is busy: a signal's handler may be in the middle of one, and one thread stands for all unrecorded.
    Place* place = thread->busy ? nullptr : &thread->places[place_of(caller)];
    CallSite* site = place ? site_at(place, key) : call_site(key);
    const EntryPoint& entry_point = shape_of(number).entry_point;
    frame->thread = nullptr;
    frame->stack = stack;
    frame->shape = &entry_point;
    frame->symbol = static_cast<uint16_t>(number);
    frame->is_quiet = false;
    frame->emulated = asks_device(entry_point);
    RealFunction real = {nullptr, true};
    if (!frame->emulated) {
        real = entrance & ASKED ? asked_function(number) : bound_function(site, number, caller);
        if (!real.address) real.address = reinterpret_cast<void*>(&answer_not_found);
    }
    const bool is_looked_at = real.watched && !thread->busy && !thread->library_call;
    if (is_looked_at) enter(thread, number, frame);
    uint32_t known = site && !frame->emulated ? site->stack_words.load(std::memory_order_relaxed) : 0;
    const bool is_described = !known;
    if (is_described) known = describe(frame) + 1;
    if (is_described && site) site->stack_words.store(known, std::memory_order_relaxed);
    if (is_looked_at) frame->is_quiet = enter_quietly(thread, place, entry_point, frame);
    if (is_looked_at && !frame->is_quiet) {
        if (!is_described) describe(frame);
        enter_closely(thread, site, frame);
    }
    return {real.address, known - 1};
}

extern "C" __attribute__((visibility("hidden"), used)) uint32_t cuvet_library_leave(Frame* frame, uint32_t status) {
    if (frame->emulated)
        status = static_cast<uint32_t>(cuvet_emulate(frame->entry_point, frame->words, frame->structs, false));
    if (!frame->thread) return status;
    leave(frame, status);
    __atomic_store_n(&frame->thread->library_call, 0, __ATOMIC_RELAXED);
    return status;
}

extern "C" const char cuvet_asked_entrances[] __attribute__((visibility("hidden")));
extern "C" const char cuvet_bound_entrances[] __attribute__((visibility("hidden")));

void* entrance_of_asked(uint32_t symbol) { return const_cast<char*>(cuvet_asked_entrances + symbol * ENTRANCE_BYTES); }

}  // namespace cuvet

extern "C" __attribute__((visibility("default"))) void* cuvet_library_function(const char* name) {
    const uint32_t symbol = cuvet::library_symbol(name);
    if (symbol == cuvet::NO_LIBRARY_SYMBOL) return nullptr;
    return const_cast<char*>(cuvet::cuvet_bound_entrances + symbol * cuvet::ENTRANCE_BYTES);
}

// Each entrance is 16 bytes: the number of its symbol, and a jump to what all have in common. That keeps the argument
// registers in a Frame, asks cuvet_library_enter what to call, calls it with a copy of the stack's arguments, and hands
// its status to cuvet_library_leave.
#if defined(__x86_64__)
#define ENTRANCE(name)                   \
    ".globl " #name                      \
    "\n"                                 \
    ".type " #name ", @function\n" #name \
    ": cuvet_entrance\n"                 \
    ".size " #name ", 16\n"
asm(R"(
    .text
    .set CUVET_FRAME, 1536
    .p2align 4
    .type cuvet_library_call, @function
cuvet_library_call:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $CUVET_FRAME, %rsp
    movq %rdi, (%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movq %xmm0, 48(%rsp)
    movq %xmm1, 56(%rsp)
    movq %xmm2, 64(%rsp)
    movq %xmm3, 72(%rsp)
    movq %xmm4, 80(%rsp)
    movq %xmm5, 88(%rsp)
    movq %xmm6, 96(%rsp)
    movq %xmm7, 104(%rsp)
    movl %eax, %edi
    movq %rsp, %rsi
    leaq 16(%rbp), %rdx
    movq 8(%rbp), %rcx
    call cuvet_library_enter
    testq %rax, %rax
    jz 1f
    movq %rax, %r11
    testq %rdx, %rdx
    jz 2f
    movq %rdx, %rcx
    leaq 15(,%rdx,8), %rax
    andq $-16, %rax
    subq %rax, %rsp
    leaq 16(%rbp), %rsi
    movq %rsp, %rdi
    rep movsq
2:  movq -CUVET_FRAME(%rbp), %rdi
    movq 8-CUVET_FRAME(%rbp), %rsi
    movq 16-CUVET_FRAME(%rbp), %rdx
    movq 24-CUVET_FRAME(%rbp), %rcx
    movq 32-CUVET_FRAME(%rbp), %r8
    movq 40-CUVET_FRAME(%rbp), %r9
    movq 48-CUVET_FRAME(%rbp), %xmm0
    movq 56-CUVET_FRAME(%rbp), %xmm1
    movq 64-CUVET_FRAME(%rbp), %xmm2
    movq 72-CUVET_FRAME(%rbp), %xmm3
    movq 80-CUVET_FRAME(%rbp), %xmm4
    movq 88-CUVET_FRAME(%rbp), %xmm5
    movq 96-CUVET_FRAME(%rbp), %xmm6
    movq 104-CUVET_FRAME(%rbp), %xmm7
    call *%r11
1:  leaq -CUVET_FRAME(%rbp), %rdi
    movl %eax, %esi
    call cuvet_library_leave
    leave
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    ret
    .cfi_endproc
    .size cuvet_library_call, .-cuvet_library_call

    .macro cuvet_entrance
    endbr64
    movl $cuvet_number, %eax
    jmp cuvet_library_call
    .set cuvet_number, cuvet_number + 1
    .p2align 4
    .endm
)"
#elif defined(__aarch64__)
#define ENTRANCE(name)                   \
    ".globl " #name                      \
    "\n"                                 \
    ".type " #name ", %function\n" #name \
    ": cuvet_entrance\n"                 \
    ".size " #name ", 16\n"
asm(R"(
    .text
    .set CUVET_FRAME, 1536
    .p2align 4
    .type cuvet_library_call, %function
cuvet_library_call:
    .cfi_startproc
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    sub sp, sp, #CUVET_FRAME
    stp x0, x1, [sp]
    stp x2, x3, [sp, #16]
    stp x4, x5, [sp, #32]
    stp x6, x7, [sp, #48]
    stp d0, d1, [sp, #64]
    stp d2, d3, [sp, #80]
    stp d4, d5, [sp, #96]
    stp d6, d7, [sp, #112]
    mov w0, w16
    mov x1, sp
    add x2, x29, #16
    mov x3, x30
    bl cuvet_library_enter
    cbz x0, 3f
    mov x9, x0
    add x10, x1, #1
    and x10, x10, #-2
    sub sp, sp, x10, lsl #3
    add x11, x29, #16
    mov x12, sp
1:  cbz x1, 2f
    ldr x13, [x11], #8
    str x13, [x12], #8
    sub x1, x1, #1
    b 1b
2:  sub x10, x29, #CUVET_FRAME
    ldp x0, x1, [x10]
    ldp x2, x3, [x10, #16]
    ldp x4, x5, [x10, #32]
    ldp x6, x7, [x10, #48]
    ldp d0, d1, [x10, #64]
    ldp d2, d3, [x10, #80]
    ldp d4, d5, [x10, #96]
    ldp d6, d7, [x10, #112]
    blr x9
3:  mov w1, w0
    sub x0, x29, #CUVET_FRAME
    bl cuvet_library_leave
    mov sp, x29
    ldp x29, x30, [sp], #16
    .cfi_restore x29
    .cfi_restore x30
    .cfi_def_cfa sp, 0
    ret
    .cfi_endproc
    .size cuvet_library_call, .-cuvet_library_call

    .macro cuvet_entrance
    hint #34
    mov w16, #cuvet_number
    b cuvet_library_call
    .set cuvet_number, cuvet_number + 1
    .p2align 4
    .endm
)"
#endif
    R"(
    .globl cuvet_bound_entrances
    .hidden cuvet_bound_entrances
    .globl cuvet_asked_entrances
    .hidden cuvet_asked_entrances
    .p2align 4
    .set cuvet_number, 0
    .cfi_startproc
cuvet_bound_entrances:
)"
#include "generated/library_entrances.inc"
    R"(
    .set cuvet_count, cuvet_number
    .set cuvet_number, 0x8000
cuvet_asked_entrances:
    .rept cuvet_count
    cuvet_entrance
    .endr
    .cfi_endproc
)");
