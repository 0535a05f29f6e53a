#include "process.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <initializer_list>

#include "call.h"
#include "driver.h"
#include "guard.h"
#include "inject.h"
#include "launches.h"
#include "narrow.h"
#include "protect.h"
#include "python_frames.h"
#include "quarantine.h"
#include "signals.h"
#include "stacks.h"
#include "symbols.h"

namespace cuvet {

std::atomic<Mode> mode;
bool record_everything;
bool record_accesses;
Stacks stacks_wanted;

namespace {

constexpr int LAST_ROUND = PTHREAD_DESTRUCTOR_ITERATIONS - 1;

pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_key_t thread_key;
std::atomic<bool> initialised;  // cuInit succeeded in this process or in the one that it was forked from
std::atomic<bool> inherited;    // … in the latter, which the new file does not say yet
Thread unrecorded;              // stands in for each thread of which nothing is recorded; always busy
__thread ForkFields* pending_fork __attribute__((tls_model("initial-exec")));

bool wants_emulation() {
    const char* socket = getenv("CUVET_DEVICE_SOCKET");
    return socket && *socket;
}

// ---- threads that end

// Other destructors may make CUDA calls still, so ours waits for the last round but one: the last is the sanitizers'.
void end_thread(void* round) {
    const intptr_t number = reinterpret_cast<intptr_t>(round);
    if (number < LAST_ROUND) {
        pthread_setspecific(thread_key, reinterpret_cast<void*>(number + 1));
        return;
    }
    if (!current_thread || current_thread == &unrecorded) return;
    detach_thread(current_thread);
    current_thread = nullptr;
}

// ---- fork

void record_fork(Thread* thread) {
    const Busy busy(thread);
    const uint32_t stack = capture_stack(thread);
    pending_fork = write_record(thread, RecordType::FORK, ForkFields{0, thread->id, ticks(), stack, 0});
}

void before_fork() {
    pending_fork = nullptr;
    open_all();
    if (current_thread && !current_thread->busy) record_fork(current_thread);
    pthread_mutex_lock(&start_lock);
}

void after_fork_in_parent() { pthread_mutex_unlock(&start_lock); }

// The mapping of the parent's file is shared: only the child knows its own number in time.
void after_fork_in_child() {
    if (pending_fork) __atomic_store_n(&pending_fork->child, static_cast<uint32_t>(getpid()), __ATOMIC_RELEASE);
    if (current_thread) current_thread->busy = true;  // for calls under way, which belong to the parent's recording
    current_thread = nullptr;
    forget_guards();
    forget_quarantine();
    forget_recording();
    forget_stacks();
    forget_launches();
    forget_narrowing();
    inherited.store(initialised.load());
    if (initialised.load()) stop_protecting();
    let_quiet_calls_pass(false);
    mode.store(Mode::UNKNOWN, std::memory_order_relaxed);
    pthread_mutex_init(&start_lock, nullptr);
}

// ---- faults

uint64_t instruction_of(const void* context) {
    const ucontext_t* machine = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
    return static_cast<uint64_t>(machine->uc_mcontext.gregs[REG_RIP]);
#else
    return machine->uc_mcontext.pc;
#endif
}

void record_fault(Thread* thread, int signal, const siginfo_t* info, const void* context) {
    const FaultFields fields = {
        static_cast<uint32_t>(signal), thread->id, info->si_code, 0, reinterpret_cast<uint64_t>(info->si_addr),
        instruction_of(context),       ticks()};
    FaultFields* record = write_record(thread, RecordType::FAULT, fields);
    if (!record) return;
    record->stack = capture_stack(thread);  // last: on a stack that is destroyed or too small it may fault
}

constexpr uint64_t MOST_STACK = 16384;  // of what a stored touch takes

// On a signal stack of the program's there may be none.
bool has_room(const void* context) {
    const stack_t& stack = static_cast<const ucontext_t*>(context)->uc_stack;
    const uint64_t here = reinterpret_cast<uint64_t>(__builtin_frame_address(0)),
                   start = reinterpret_cast<uint64_t>(stack.ss_sp);
    return here < start || here >= start + stack.ss_size || here - start >= MOST_STACK;
}

bool is_write(const void* context) {
#if defined(__x86_64__)
    constexpr uint64_t WRITE = 2;  // of a page fault's error code
    return static_cast<uint64_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR]) & WRITE;
#else
    (void)context;
    return false;
#endif
}

void record_touch(Thread* thread, const siginfo_t* info, const void* context) {
    const Busy busy(thread);
    const uint64_t time = ticks();
    const uint32_t stack = has_room(context) ? capture_stack(thread) : 0;
    const HostAccessFields fields = {
        thread->calls, thread->id,       stack, reinterpret_cast<uint64_t>(info->si_addr), instruction_of(context),
        time,          is_write(context)};
    write_record(thread, RecordType::HOST_ACCESS, fields);
}

// A touch of guarded memory: the instruction is executed again. The driver and the shim may touch what they want.
bool step_over(const siginfo_t* info, const void* context) {
    const uint64_t address = reinterpret_cast<uint64_t>(info->si_addr);
    const bool inside = current_thread && (current_thread->busy || current_thread->depth);
    const Touched touched = open_touched(address, is_write(context), inside);
    if (touched == Touched::NOTHING) return false;
    if (touched == Touched::KNOWN || inside) return true;
    if (current_thread) {
        record_touch(current_thread, info, context);
    } else if (Thread* thread = attach_thread()) {
        record_touch(thread, info, context);
        detach_thread(thread);
    }
    return true;
}

// Records the fault, then lets the process die of it: the instruction is executed again, or the signal sent again.
void handle_fault(int signal, siginfo_t* info, void* context) {
    const int before = errno;
    const bool ours = signal == SIGSEGV && info->si_code == SEGV_ACCERR && step_over(info, context);
    errno = before;
    if (ours || pass_fault_on(signal, info, context)) return;
    Thread* thread = current_thread ? current_thread : attach_thread();
    if (thread && thread != &unrecorded) record_fault(thread, signal, info, context);
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    real_sigaction(signal, &standard, nullptr);
    const bool was_sent = info->si_code <= 0;
    if (was_sent) syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
}

void watch_faults() {
    if (wants_guard()) take_faults(handle_fault);
    for (const int signal : {SIGSEGV, SIGBUS}) {
        struct sigaction action = {};
        if (real_sigaction(signal, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) ||
            action.sa_handler != SIG_DFL)
            continue;
        action.sa_sigaction = handle_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        real_sigaction(signal, &action, nullptr);
    }
}

// ---- facts about the machine

// None of these questions needs a context, or makes one.
void ask_about(uint32_t gpu) {
    constexpr uint64_t CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76, PAGEABLE_MEMORY_ACCESS = 88;  // CUdevice_attribute
    int32_t device = 0, major = 0, minor = 0, pageable = -1;
    uint64_t memory = 0;
    if (ask_driver(SYMBOL_cuDeviceGet, address_of(device), gpu) != 0) return;
    const uint64_t word = static_cast<uint64_t>(device);
    ask_driver(SYMBOL_cuDeviceTotalMem_v2, address_of(memory), word);
    ask_driver(SYMBOL_cuDeviceGetAttribute, address_of(major), CAPABILITY_MAJOR, word);
    ask_driver(SYMBOL_cuDeviceGetAttribute, address_of(minor), CAPABILITY_MINOR, word);
    ask_driver(SYMBOL_cuDeviceGetAttribute, address_of(pageable), PAGEABLE_MEMORY_ACCESS, word);
    set_gpu_facts(gpu, memory, static_cast<uint32_t>(10 * major + minor), static_cast<uint32_t>(pageable + 1));
}

// ---- the first call

// Takes the loader's lock. A thread that has it, in a constructor, may wait for start_lock: so this comes before.
Mode find_libraries() {
    if (wants_recording()) {
        find_unwinder();
        find_python();
    }
    return wants_emulation() ? Mode::EMULATED : open_driver() ? Mode::REAL : Mode::NO_DRIVER;
}

Stacks wanted_stacks() {
    const char* stacks = getenv("CUVET_STACKS");
    if (stacks && strcmp(stacks, "created") == 0) return Stacks::CREATED;
    return stacks && strcmp(stacks, "none") == 0 ? Stacks::NONE : Stacks::ALL;
}

void start_recording(bool emulated) {
    const char* record = getenv("CUVET_RECORD");
    record_accesses = record && strcmp(record, "accesses") == 0;
    record_everything = record && strcmp(record, "full") == 0;
    if (record_accesses) hot.work_recorded.store(true, std::memory_order_relaxed);  // order matters from the begin on
    stacks_wanted = wanted_stacks();
    if (!open_recording(emulated, record_everything, record_accesses)) return;
    set_driver_path(driver_path());
    start_guarding();
    if (!initialised.load()) start_protecting();
    start_injecting();
    static bool handlers_installed;
    if (handlers_installed) return;
    handlers_installed = true;
    pthread_key_create(&thread_key, end_thread);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    watch_faults();
}

// Whether main returned or another function ended the process: on its error path, what is left then is nobody's fault.
void write_exit(Thread* thread) {
    const ExitFields fields = {capture_stack(thread), thread->id};
    write_record(thread, RecordType::EXIT, fields);
}

__attribute__((destructor)) void end_process() {
    char path[PATH_MAX];
    if (wants_recording() && driver_past_shim(path, sizeof path)) note(NoteCode::BYPASSED, path);
    stop_guarding();
    if (current_thread && current_thread != &unrecorded) {
        record_new_modules(current_thread);
        if (injects()) write_exit(current_thread);
    }
    finish_recording();
}

// From the thread pointer: the same in every thread.
intptr_t offset_of_current_thread() {
    char* pointer;
#if defined(__x86_64__)
    asm("movq %%fs:0, %0" : "=r"(pointer));
#else
    pointer = static_cast<char*>(__builtin_thread_pointer());
#endif
    return reinterpret_cast<char*>(&current_thread) - pointer;
}

}  // namespace

void start() {
    if (mode.load(std::memory_order_acquire) != Mode::UNKNOWN) return;
    const Uncancellable uncancellable;
    const Mode found = find_libraries();
    pthread_mutex_lock(&start_lock);
    if (mode.load(std::memory_order_relaxed) == Mode::UNKNOWN) {
        start_recording(found == Mode::EMULATED);
        hot.thread_offset.store(offset_of_current_thread(), std::memory_order_relaxed);
        let_quiet_calls_pass(found == Mode::REAL && !record_everything);
        if (is_recording() && found != Mode::NO_DRIVER) {
            start_quarantine(found == Mode::EMULATED);
            start_narrowing();
        }
        mode.store(found, std::memory_order_release);
    }
    pthread_mutex_unlock(&start_lock);
}

Thread* start_thread() {
    start();
    Thread* thread = is_recording() ? attach_thread() : nullptr;
    if (!thread) {
        stop_protecting();
        unrecorded.busy = true;
        return current_thread = &unrecorded;
    }
    current_thread = thread;
    pthread_setspecific(thread_key, reinterpret_cast<void*>(intptr_t{1}));
    if (inherited.exchange(false)) write_note(thread, NoteCode::INHERITED_CONTEXT, "");
    return thread;
}

void note(NoteCode code, const char* text) {
    start();
    Thread* thread = current_thread ? current_thread : start_thread();
    if (thread != &unrecorded) write_note(thread, code, text);
}

void driver_initialised() {
    if (initialised.exchange(true)) return;
    uint32_t gpus = 0;
    int32_t version = 0;
    ask_driver(SYMBOL_cuDeviceGetCount, address_of(gpus));
    ask_driver(SYMBOL_cuDriverGetVersion, address_of(version));
    set_device_facts(gpus, version);
    for (uint32_t gpu = 0; gpu < gpus && gpu < MOST_GPUS; gpu++) ask_about(gpu);
}

}  // namespace cuvet
