// A call of a library's function goes through the shim as it came: registers and stack reach the real function
// untouched, so that no signature need be right for the program to work. What the catalog says of the parameters is
// only for what is recorded. See docs/decisions/0007-libraries-behind-one-entrance.md.
#include "library_call.h"

#include <string.h>

#include <cstddef>
#include <initializer_list>
#include <new>

#include "call.h"
#include "driver.h"
#include "inject.h"
#include "libraries.h"
#include "library_handles.h"
#include "process.h"
#include "protect.h"

namespace cuvet {

// What the assembly does next: calls `function`, if there is one, with so many words of its caller's stack.
struct Passage {
    void* function;
    uint64_t stack_words;
};
static_assert(sizeof(Passage) == 16 && offsetof(Passage, stack_words) == 8);  // it comes in two registers

// Numbers that the assembly has, too.
#define FRAME_BYTES 192
#define ENTRANCE_BYTES 16
#define ASKED 0x8000  // in the number that an entrance hands over
#define TEXT(what) #what
#define TEXT_OF(number) TEXT(number)

namespace {

constexpr int FLOATING_REGISTERS = 8;
constexpr int MOST_PARAMETERS = 48;
constexpr int MOST_STRUCTS = 2;
constexpr uint32_t NOT_FOUND = 1;  // an error to every library
constexpr uint32_t MOST_TRANSIENT = 256;
static_assert(LIBRARY_SYMBOL_COUNT < ASKED);

enum class Look : uint8_t {
    QUIET,    // the frame tells of the call
    CLOSE,    // the thread's CloseCall tells of it
    REFUSED,  // the same, and nothing was called
    NONE,
};

// On the stack while the real function runs. The entrances write the registers.
struct Frame {
    uint64_t integers[INTEGER_REGISTERS];
    uint64_t floating[FLOATING_REGISTERS];
    const uint64_t* stack;  // arguments of the caller
    Thread* thread;
    uint32_t symbol;
    Look look;
    bool emulated;  // the emulated device answers; of a look that is not QUIET
    QuietCall quiet;
};
static_assert(sizeof(Frame) <= FRAME_BYTES && FRAME_BYTES % 16 == 0 && alignof(Frame) <= 16);
static_assert(offsetof(Frame, integers) == 0 && sizeof(Frame::integers) == INTEGER_REGISTERS * 8);
static_assert(offsetof(Frame, floating) == INTEGER_REGISTERS * 8 && sizeof(Frame::floating) == 64);

// What the catalog says of the arguments.
struct Description {
    EntryPoint entry_point;
    uint64_t words[MOST_PARAMETERS];
    Blob structs[MOST_STRUCTS + 1];
};

// A call that is no quiet one.
struct CloseCall : Description {
    alignas(Call) char call[sizeof(Call)];
};
static_assert(sizeof(CloseCall) <= sizeof Thread::close_call && alignof(CloseCall) <= 16);

Call* close_call(Thread* thread) {
    return reinterpret_cast<Call*>(reinterpret_cast<CloseCall*>(thread->close_call)->call);
}

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
int read_arguments(const char* passing, const Frame* frame, Description* description) {
    Reader arguments = {frame, 0, 0, 0};
    Blob* structure = description->structs;
    uint64_t* word = description->words;
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
        if (structure < description->structs + MOST_STRUCTS)
            *structure++ = {static_cast<uint16_t>(word - description->words), static_cast<uint32_t>(words) * 8, data};
    }
    *structure = {0, 0, nullptr};
    return arguments.on_stack;
}

uint32_t answer_not_found() { return NOT_FOUND; }

const LibraryShape& shape_of(uint32_t symbol) { return library_shapes[library_symbols[symbol].shape]; }

// Returns how many words of the arguments are on the stack.
uint32_t describe(const Frame* frame, Description* description) {
    const LibraryShape& shape = shape_of(frame->symbol);
    description->entry_point = shape.entry_point;
    description->entry_point.id = static_cast<uint16_t>(library_entry_point(frame->symbol));
    return static_cast<uint32_t>(read_arguments(shape.passing, frame, description));
}

uint32_t stack_words(CallSite* site, const Frame* frame) {
    uint32_t known = site ? site->stack_words.load(std::memory_order_relaxed) : 0;
    if (known) return known - 1;
    Description description;
    known = describe(frame, &description) + 1;
    if (site) site->stack_words.store(known, std::memory_order_relaxed);
    return known - 1;
}

// Frameworks make and destroy descriptors for every operation. The first of each call site are stored, the others only
// looked after.
bool are_stored(const CallSite* site) { return site && site->stored.load(std::memory_order_relaxed) >= MOST_TRANSIENT; }

// A thread that is inside the shim or inside a library's call looks at no other: that one may be a signal handler's,
// and what a library calls of itself is its own business.
bool may_look(const Thread* thread) { return !thread->busy && !thread->library_call; }

void begin(Thread* thread, uint32_t symbol) {
    __atomic_store_n(&thread->library_call, symbol + 1, __ATOMIC_RELAXED);
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

void end(Thread* thread) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    __atomic_store_n(&thread->library_call, 0, __ATOMIC_RELAXED);
}

// The first of the two where a memo may stand.
Memo* memo_of(Thread* thread, uint64_t key) {
    return &thread->memos[(key * 0x9E3779B97F4A7C15u >> (64 - MEMO_BITS)) & ~uint64_t{1}];
}

// Where the memo stands, or is to stand.
Memo* memo_for(Thread* thread, uint64_t key) {
    Memo* memo = memo_of(thread, key);
    for (Memo* found : {memo, memo + 1})
        if (found->key == key) return found;
    memo[1] = *memo;
    memo->stamp = 0;
    memo->key = key;
    return memo;
}

bool is_quick(const Frame* frame) {
    const EntryPoint& entry_point = shape_of(frame->symbol).entry_point;
    return quiet_calls_pass && entry_point.flags & QUICK && !is_stored_work(entry_point);
}

// Also fills the memo, for the next call. `seen`: the changes before anything was looked at.
bool enter_quietly(Thread* thread, Memo* memo, const CallSite* site, uint64_t seen, const Passage& passage,
                   Frame* frame) {
    const EntryPoint& entry_point = shape_of(frame->symbol).entry_point;
    const Arguments arguments = {frame->integers, frame->stack};
    const bool untold = entry_point.flags & MAKES_TRANSIENT && are_stored(site);
    const uint64_t key = memo->key;
    const bool is_learnt = learn(thread, entry_point, arguments, untold, memo);
    memo->key = key;
    if (!is_learnt) return false;
    memo->function = passage.function;
    memo->stack_words = static_cast<uint8_t>(passage.stack_words);
    memo->stamp = seen;
    Object* last = nullptr;
    return find_fresh(*memo, arguments, &last) && frame->quiet.enter(thread, *memo, last);
}

void enter_closely(Thread* thread, CallSite* site, const Frame* frame) {
    CloseCall* close = reinterpret_cast<CloseCall*>(thread->close_call);
    describe(frame, close);
    const bool transient = close->entry_point.flags & MAKES_TRANSIENT && !record_everything;
    const bool untold = transient && are_stored(site);
    if (transient && !untold && site) site->stored.fetch_add(1, std::memory_order_relaxed);
    const Entry entry = enter_with_handles(thread, close->entry_point, close->words);
    new (close->call) Call(close->entry_point, close->words, close->structs, thread, untold, entry);
}

// A call whose memo tells nothing of it.
__attribute__((noinline, cold)) Passage enter_anew(uint32_t entrance, Frame* frame, const void* caller) {
    Thread* thread = current_thread ? current_thread : start_thread();
    const uint64_t key = call_site_key(entrance, caller), seen = changes_of_libraries();
    CallSite* site = call_site(key);
    frame->thread = thread;
    frame->look = Look::NONE;
    frame->emulated = shape_of(frame->symbol).entry_point.flags & EMULATED && is_emulated();
    RealFunction real = {nullptr, true};
    if (!frame->emulated) {
        real = entrance & ASKED ? asked_function(frame->symbol) : bound_function(site, frame->symbol, caller);
        if (!real.address) real.address = reinterpret_cast<void*>(&answer_not_found);
    }
    const Passage passage = {real.address, stack_words(site, frame)};
    if (!real.watched || !may_look(thread)) return passage;
    begin(thread, frame->symbol);
    const Busy busy(thread);
    if (is_quick(frame) && !injects() && enter_quietly(thread, memo_for(thread, key), site, seen, passage, frame)) {
        frame->look = Look::QUIET;
    } else {
        frame->look = Look::CLOSE;
        enter_closely(thread, site, frame);
        if (refuses() && close_call(thread)->is_refused()) {
            frame->look = Look::REFUSED;
            return {nullptr, 0};
        }
    }
    return passage;
}

// It was not worth storing, but for that it failed.
void look_again(const Frame* frame) {
    CloseCall* close = reinterpret_cast<CloseCall*>(frame->thread->close_call);
    describe(frame, close);
    const Busy busy(frame->thread);
    frame->quiet.fail();
    const bool untold = close->entry_point.flags & MAKES_TRANSIENT;
    new (close->call) Call(close->entry_point, close->words, close->structs, frame->thread, untold, Entry{});
}

uint32_t emulate(const Frame* frame) {
    Description description;
    describe(frame, &description);
    const EntryPoint& entry_point = description.entry_point;
    return static_cast<uint32_t>(cuvet_emulate(entry_point, description.words, description.structs, false, false));
}

__attribute__((noinline, cold)) uint32_t leave_closely(const Frame* frame, uint32_t status) {
    Thread* thread = frame->thread;
    if (frame->look == Look::REFUSED) {
        status = close_call(thread)->refuse();
        end(thread);
        return status;
    }
    if (frame->look != Look::QUIET && frame->emulated) status = emulate(frame);
    if (frame->look == Look::NONE || thread->busy) return status;  // busy: this is the child of a callback that forked
    if (frame->look == Look::QUIET) look_again(frame);
    close_call(thread)->leave(status);
    end(thread);
    return status;
}

// A call that names what comes and goes, as the memo knows.
__attribute__((noinline, hot)) Passage enter_again(uint32_t entrance, Frame* frame, const void* caller,
                                                   const Memo* memo) {
    Object* last = nullptr;
    const bool living = find_fresh(*memo, {frame->integers, frame->stack}, &last);
    if (living && frame->quiet.enter(frame->thread, *memo, last)) return {memo->function, memo->stack_words};
    end(frame->thread);
    return enter_anew(entrance, frame, caller);
}

}  // namespace

extern "C" __attribute__((visibility("hidden"), used, hot)) Passage cuvet_library_enter(uint32_t entrance, Frame* frame,
                                                                                        const uint64_t* stack,
                                                                                        const void* caller) {
    Thread* thread = known_thread();
    frame->stack = stack;
    frame->thread = thread;
    frame->symbol = entrance & ~ASKED;
    frame->look = Look::QUIET;
    if (__builtin_expect(!thread || !may_look(thread), 0)) return enter_anew(entrance, frame, caller);
    begin(thread, frame->symbol);
    const uint64_t key = call_site_key(entrance, caller);
    const Memo* memo = memo_of(thread, key);
    if (__builtin_expect(memo->key != key, 0)) memo++;
    const bool is_known = memo->key == key && memo->stamp == changes_of_libraries();
    if (__builtin_expect(is_known && is_as_before(*memo, {frame->integers, stack}), 1)) {
        if (memo->fresh_count) return enter_again(entrance, frame, caller, memo);
        if (__builtin_expect(frame->quiet.enter(thread, *memo, nullptr), 1)) return {memo->function, memo->stack_words};
    }
    end(thread);
    return enter_anew(entrance, frame, caller);
}

extern "C" __attribute__((visibility("hidden"), used, hot)) uint32_t cuvet_library_leave(Frame* frame,
                                                                                         uint32_t status) {
    Thread* thread = frame->thread;
    if (__builtin_expect(frame->look != Look::QUIET || status || thread->busy, 0)) return leave_closely(frame, status);
    thread->calls++;
    frame->quiet.succeed(thread, {frame->integers, frame->stack});
    end(thread);
    return status;
}

extern "C" const char cuvet_asked_entrances[] __attribute__((visibility("hidden")));
extern "C" const char cuvet_bound_entrances[] __attribute__((visibility("hidden")));

void* entrance_of_asked(uint32_t symbol) { return const_cast<char*>(cuvet_asked_entrances + symbol * ENTRANCE_BYTES); }

}  // namespace cuvet

extern "C" __attribute__((visibility("default"))) void* cuvet_library_function(const char* name) {
    const uint32_t symbol = cuvet::library_symbol(name);
    if (symbol == cuvet::NO_LIBRARY_SYMBOL) return nullptr;
    return const_cast<char*>(cuvet::cuvet_bound_entrances + symbol * ENTRANCE_BYTES);
}

// Each entrance has ENTRANCE_BYTES: the number of its symbol, and a jump to what all have in common. That keeps the
// argument registers in a Frame, asks cuvet_library_enter what to call, calls it with a copy of the stack's arguments,
// and hands its status to cuvet_library_leave.
#define ENTRANCE(name)                   \
    ".globl " #name                      \
    "\n"                                 \
    ".type " #name ", %function\n" #name \
    ": cuvet_entrance\n"                 \
    ".size " #name ", " TEXT_OF(ENTRANCE_BYTES) "\n"
#if defined(__x86_64__)
asm("    .set CUVET_FRAME, " TEXT_OF(FRAME_BYTES) R"(
    .section .text.hot,"ax",@progbits
    .p2align 6
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
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7
    movq %xmm\number, 48 + 8 * \number(%rsp)
    .endr
    movl %eax, %edi
    movq %rsp, %rsi
    leaq 16(%rbp), %rdx
    movq 8(%rbp), %rcx
    call cuvet_library_enter
    testq %rax, %rax
    jz 2f
    movq %rax, %r11
    movl %edx, %eax
    movq (%rsp), %rdi
    movq 8(%rsp), %rsi
    movq 16(%rsp), %rdx
    movq 24(%rsp), %rcx
    movq 32(%rsp), %r8
    movq 40(%rsp), %r9
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7
    movq 48 + 8 * \number(%rsp), %xmm\number
    .endr
    testl %eax, %eax
    jnz 3f
1:  call *%r11
2:  leaq -CUVET_FRAME(%rbp), %rdi
    movl %eax, %esi
    call cuvet_library_leave
    leave
    .cfi_remember_state
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    ret
    .cfi_restore_state
3:  leal 1(%rax), %r10d
    andl $-2, %r10d
    shlq $3, %r10
    subq %r10, %rsp
4:  movq 8(%rbp,%rax,8), %r10
    movq %r10, -8(%rsp,%rax,8)
    decl %eax
    jnz 4b
    jmp 1b
    .cfi_endproc
    .size cuvet_library_call, .-cuvet_library_call
    .text

    .macro cuvet_entrance
    endbr64
    movl $cuvet_number, %eax
    jmp cuvet_library_call
    .set cuvet_number, cuvet_number + 1
    .balign )" TEXT_OF(ENTRANCE_BYTES) R"(
    .endm
)"
#elif defined(__aarch64__)
asm("    .set CUVET_FRAME, " TEXT_OF(FRAME_BYTES) R"(
    .section .text.hot,"ax",%progbits
    .p2align 6
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
    .text

    .macro cuvet_entrance
    hint #34
    mov w16, #cuvet_number
    b cuvet_library_call
    .set cuvet_number, cuvet_number + 1
    .balign )" TEXT_OF(ENTRANCE_BYTES) R"(
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
    .set cuvet_number, )" TEXT_OF(ASKED) R"(
cuvet_asked_entrances:
    .rept cuvet_count
    cuvet_entrance
    .endr
    .cfi_endproc
)");
