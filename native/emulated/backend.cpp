// The shim's end of the device protocol (docs/architecture.md): sends a call to the device process and obeys until it
// returns. No semantics here: what a call means is known to the device process alone.
#include "backend.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "call.h"
#include "emulated/host_functions.h"
#include "emulated/memory.h"
#include "emulated/wire.h"
#include "notices.h"
#include "process.h"
#include "recorder.h"
#include "stacks.h"

namespace cuvet::emulated {

namespace {

constexpr uint64_t STATUS_UNKNOWN = 999;  // CUDA_ERROR_UNKNOWN
constexpr size_t SCRATCH_BYTES = 64u << 10;
constexpr unsigned MOST_DRIVER_WORDS = 16;

// Tells this program from another that the same process executes later; a forked child has its parent's.
const uint64_t image = now_ns(CLOCK_MONOTONIC);

// The last process that called CUDA; in a forked child it is still the parent's until the child calls.
std::atomic<pid_t> caller_process{0};
std::atomic<bool> said_gone{false};

__attribute__((format(printf, 1, 2))) void say(const char* form, ...) {
    char line[1024];
    va_list rest;
    va_start(rest, form);
    const int written = vsnprintf(line, sizeof line, form, rest);
    va_end(rest);
    if (written > 0) write_all(STDERR_FILENO, line, std::min(static_cast<size_t>(written), sizeof line - 1));
}

bool unsupported_path(char (&path)[4096]) {
    const char* directory = getenv("CUVET_TRACE");
    if (!directory) return false;
    const int length = snprintf(path, sizeof path, "%s/unsupported", directory);
    return length > 0 && static_cast<size_t>(length) < sizeof path;
}

// The launcher finds this line, and in the next the file whose code called, and ends with exit code 2.
void note_unsupported(const uint8_t* text, size_t length) {
    char path[4096];
    if (!unsupported_path(path)) return;
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return;
    const char* caller = calling_file();
    const bool written = write_all(file, text, length) == 0 && write_all(file, "\n", 1) == 0 &&
                         write_all(file, caller, strlen(caller)) == 0;
    if (!written) unlink(path);
    close(file);
}

void withdraw_unsupported() {
    char path[4096];
    if (unsupported_path(path)) unlink(path);
}

// A thread's connection, and memory of it in the program's address space for the device process's use.
struct Session {
    Connection connection;
    pid_t process = 0;  // that the connection is of; 0 none yet
    uint8_t* scratch = nullptr;
    uint32_t depth = 0;     // calls in progress
    uint32_t calls = 0;     // that this connection asked for
    bool foreseen = false;  // the next call of a wrapper is answered without being asked
    uint32_t foreseen_calls = 0;
    uint64_t connections = 0;   // how often it was connected
    uint64_t driver_calls = 0;  // that wrappers asked the device process for
    bool failed = false;        // a command that was not answered, of the calls in progress

    ~Session() {
        connection.close();
        free(scratch);
    }
};

thread_local Session* thread_session = nullptr;

struct EndOfThread {
    ~EndOfThread() {
        delete thread_session;
        thread_session = nullptr;
    }
};

// Exit handlers run after the main thread's destructors and may still call CUDA: they get a new session, which is not
// deleted.
Session* current_session() {
    static thread_local EndOfThread end_of_thread;
    (void)end_of_thread;
    if (!thread_session) thread_session = new Session;
    return thread_session;
}

void gone(const char* why) {
    if (said_gone.exchange(true)) return;
    tell_launcher(Notice::UNREACHABLE, errno);
    const char* path = getenv("CUVET_DEVICE_SOCKET");
    say("cuvet: the emulated device at %s %s: every CUDA call fails from now on\n",
        path ? path : "(CUVET_DEVICE_SOCKET is not set)", why);
}

void say_goodbye();

bool connect_session(Session* session) {
    const pid_t process = getpid();
    if (session->process == process && session->connection.is_open()) return true;
    const bool again = session->process == process;
    session->connection.close();
    session->process = process;
    session->depth = 0;
    session->calls = 0;
    session->foreseen = false;
    session->foreseen_calls = 0;
    session->connections++;
    const pid_t parent = caller_process.exchange(process);
    const char* path = getenv("CUVET_DEVICE_SOCKET");
    const uint8_t flags = static_cast<uint8_t>((runs_host_functions() ? 1 : 0) | (again ? 2 : 0));
    Message hello(MessageKind::HELLO, flags, PROTOCOL_VERSION, static_cast<uint32_t>(parent == process ? 0 : parent));
    hello.put(static_cast<uint32_t>(process));
    hello.put(static_cast<uint32_t>(syscall(SYS_gettid)));
    hello.put(image);
    const bool usable = path && session->connection.open(path) && session->connection.send(&hello);
    if (parent == 0)
        atexit(say_goodbye);  // the driver's own exit handler, from its first call on; a forked child has its parent's
    return usable;
}

uint64_t lose_session(Session* session) {
    if (session->connection.is_open())
        gone("is gone");
    else
        say("cuvet: the program closed the emulated device's descriptor during a call, which failed\n");
    session->connection.close();
    return STATUS_UNKNOWN;
}

struct Answer {
    int32_t error = 0;
    std::vector<uint8_t> data;

    void put_word(uint64_t word) {
        data.resize(sizeof word);
        memcpy(data.data(), &word, sizeof word);
    }
};

bool send_answer(Session* session, const Answer& answer) {
    Message message(MessageKind::ANSWER, 0, 0, static_cast<uint32_t>(answer.error));
    message.append(answer.data.data(), answer.data.size());
    return session->connection.send(&message);
}

void answer_read(const Command& command, Answer* answer) {
    answer->data.resize(command.operand[1]);
    answer->error = read_host(answer->data.data(), command.operand[0], answer->data.size());
    if (answer->error != 0) answer->data.clear();
}

void answer_read_string(const Command& command, Answer* answer) {
    answer->data.resize(command.operand[1]);
    const long length =
        read_host_string(reinterpret_cast<char*>(answer->data.data()), command.operand[0], answer->data.size());
    if (length < 0) answer->error = EFAULT;
    answer->data.resize(length < 0 ? 0 : static_cast<size_t>(length));
}

void answer_copy(const Command& command, Answer* answer) {
    const uint64_t* operand = command.operand;
    answer->error = copy(operand[0], operand[1], {operand[2], operand[3], operand[4], operand[5]});
}

void answer_set(const Command& command, Answer* answer) {
    const uint64_t* operand = command.operand;
    answer->error = fill(operand[0], operand[1], operand[2], {operand[3], operand[4], operand[5], 0});
}

void answer_reserve(const Command& command, Answer* answer) {
    uint64_t address = 0;
    answer->error = reserve(command.operand[0], command.operand[1], static_cast<Access>(command.operand[2]), &address);
    answer->put_word(address);
}

// Integers and pointers go to the same places however many the callee takes, so one type calls every wrapper.
uint64_t call_wrapper(void* wrapper, const uint64_t* w) {
    using Wrapper = uint32_t (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                 uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
    return reinterpret_cast<Wrapper>(wrapper)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11],
                                              w[12], w[13], w[14], w[15]);
}

void answer_call_driver(const Command& command, Answer* answer) {
    void* wrapper = cuvet_driver_wrapper(static_cast<uint32_t>(command.operand[0]));
    uint64_t words[MOST_DRIVER_WORDS] = {};
    if (!wrapper || command.operands < 1 || command.operands - 1 > MOST_DRIVER_WORDS) {
        answer->error = EINVAL;
    } else {
        memcpy(words, command.operand + 1, (command.operands - 1) * sizeof(uint64_t));
        answer->put_word(call_wrapper(wrapper, words));
    }
}

void answer_call_host(const Command& command, Answer* answer) {
    const uint64_t* operand = command.operand;
    const Callback callback = static_cast<Callback>(operand[1]);
    if (!enqueue(operand[0], {operand[2], operand[3], callback, operand[4], operand[5]})) answer->error = EAGAIN;
}

void answer_scratch(const Command& command, Answer* answer) {
    Session* session = current_session();
    if (!session->scratch) session->scratch = static_cast<uint8_t*>(malloc(SCRATCH_BYTES));
    if (!session->scratch || command.operand[0] > SCRATCH_BYTES) answer->error = ENOMEM;
    answer->put_word(reinterpret_cast<uint64_t>(session->scratch));
}

// The thread's scratch memory is the shim's own: no page of it is away, so that no system call has to look.
void answer_write(const Command& command, Answer* answer) {
    const Session* session = current_session();
    const uint64_t offset = command.operand[0] - reinterpret_cast<uint64_t>(session->scratch);
    if (session->scratch && offset < SCRATCH_BYTES && command.bytes <= SCRATCH_BYTES - offset)
        memcpy(session->scratch + offset, command.data, command.bytes);
    else
        answer->error = write_host(command.operand[0], command.data, command.bytes);
}

// A SIGSEGV is a real one, so that handlers and core files see a fault in libcuda.so.1, as they do on hardware.
void raise_signal(int signal, uint64_t address) {
    if (signal == SIGSEGV) *reinterpret_cast<volatile char*>(address) = 0;
    raise(signal);
}

void answer_lookup(const Command& command, Answer* answer) {
    char name[256] = {};
    if (command.bytes < sizeof name) memcpy(name, command.data, command.bytes);
    answer->put_word(reinterpret_cast<uint64_t>(cuvet_driver_symbol(name)));
}

void tell_user(const uint8_t* text, size_t length) {
    char line[512];
    snprintf(line, sizeof line, "%.*s", static_cast<int>(length), reinterpret_cast<const char*>(text));
    say("cuvet: %s\n", line);
    note(NoteCode::EMULATED, line);
}

void take_message(const Command& command) {
    const Text text = static_cast<Text>(command.operand[0]);
    if (text == Text::USER) tell_user(command.data, command.bytes);
    if (text == Text::UNSUPPORTED) note_unsupported(command.data, command.bytes);
    if (text == Text::SUPPORTED) withdraw_unsupported();
}

void obey(const Command& command, Answer* answer) {
    switch (command.op) {
        case Op::READ:
            return answer_read(command, answer);
        case Op::WRITE:
            return answer_write(command, answer);
        case Op::READ_STRING:
            return answer_read_string(command, answer);
        case Op::COPY:
            return answer_copy(command, answer);
        case Op::SET:
            return answer_set(command, answer);
        case Op::RESERVE:
            return answer_reserve(command, answer);
        case Op::RELEASE:
            answer->error = release(command.operand[0], command.operand[2] != 0);
            return;
        case Op::CALL_DRIVER:
            return answer_call_driver(command, answer);
        case Op::CALL_HOST:
            return answer_call_host(command, answer);
        case Op::DRAIN:
            return answer->put_word(outstanding(command.operand[0], command.operand[1] != 0));
        case Op::SCRATCH:
            return answer_scratch(command, answer);
        case Op::RAISE:
            return raise_signal(static_cast<int>(command.operand[0]), command.operand[1]);
        case Op::LOOKUP:
            return answer_lookup(command, answer);
        case Op::MESSAGE:
            return take_message(command);
        case Op::RETURN:
            return;
    }
}

void say_goodbye() {
    Session* session = current_session();
    if (!connect_session(session)) return;
    Message message(MessageKind::GOODBYE);
    session->connection.send(&message);
}

// Obeys the device process until it returns from the connection's call of that number.
uint64_t obey_until_return(Session* session, uint32_t call) {
    const uint64_t connection = session->connections;
    for (;;) {
        Command command;
        if (!session->connection.receive(call, &command)) return lose_session(session);
        if (command.op == Op::RETURN) return command.operand[session->failed ? 1 : 0];
        if (command.op > Op::MESSAGE) return lose_session(session);  // no command
        const uint64_t driver_calls = session->driver_calls;
        if (command.foreseen) session->foreseen = true;
        Answer answer;
        obey(command, &answer);
        if (command.foreseen && session->foreseen) return lose_session(session);  // the wrapper did not ask
        if (session->connections != connection) return lose_session(session);     // a call inside of this one lost it
        if (command.unanswered) session->failed |= answer.error != 0;
        const bool known = command.op == Op::CALL_DRIVER && session->driver_calls != driver_calls;
        if (!command.unanswered && !known && !send_answer(session, answer)) return lose_session(session);
    }
}

uint64_t obey_call(Session* session, uint32_t call) {
    const uint32_t depth = session->depth++;
    if (depth == 0) session->failed = false;
    const uint64_t status = obey_until_return(session, call);
    session->depth = depth;
    return status;
}

// Sends a request and obeys what follows.
uint64_t ask(MessageKind kind, uint32_t id, const uint64_t* words, uint32_t count, const Blob* structs,
             uint16_t flags) {
    Session* session = current_session();
    if (!connect_session(session)) {
        gone("cannot be reached");
        return STATUS_UNKNOWN;
    }
    Message request(kind, static_cast<uint8_t>(count), flags, id);
    request.append(words, count * sizeof(uint64_t));
    for (const Blob* blob = structs; blob && blob->data; blob++) {
        request.put(blob->parameter);
        request.put(uint16_t{0});
        request.put(blob->bytes);
        request.append(blob->data, blob->bytes);
    }
    if (!session->connection.send(&request)) return lose_session(session);
    return obey_call(session, session->calls++);
}

}  // namespace

}  // namespace cuvet::emulated

extern "C" __attribute__((visibility("default"))) uint64_t cuvet_emulate(const cuvet::EntryPoint& entry_point,
                                                                         const uint64_t* words,
                                                                         const cuvet::Blob* structs, bool per_thread,
                                                                         bool own_question) {
    using namespace cuvet::emulated;
    const bool library = entry_point.flags & cuvet::LIBRARY;
    if (!library && !own_question) {
        Session* session = current_session();
        session->driver_calls++;
        if (session->foreseen) {
            session->foreseen = false;
            return obey_call(session, FORESEEN_CALL | (session->foreseen_calls++ & ~FORESEEN_CALL));
        }
    }
    const MessageKind kind = library ? MessageKind::LIBRARY_CALL : MessageKind::DRIVER_CALL;
    cuvet::Thread* thread = own_question ? nullptr : cuvet::current_thread;
    const bool awaited = thread && thread->awaits;
    const uint32_t fault = thread && !library ? thread->fault.status : 0;
    const int flags = (per_thread ? PER_THREAD_SYMBOL : 0) | (own_question ? OWN_QUESTION : 0) |
                      (awaited ? AWAITED_CALL : 0) |
                      (fault && thread->fault.later ? FAULTY_WORK
                       : fault                      ? FAULTY_CALL
                                                    : 0) |
                      static_cast<int>(fault << FAULT_SHIFT);
    if (thread) thread->fault = {};
    return ask(kind, entry_point.id, words, entry_point.parameter_count, structs, static_cast<uint16_t>(flags));
}

extern "C" __attribute__((visibility("default"))) void cuvet_emulate_carefully() {
    using namespace cuvet::emulated;
    Session* session = current_session();
    if (!connect_session(session)) return;
    Message message(MessageKind::CAREFUL);
    session->connection.send(&message);
}

// The emulated libcudart's way to the device process. Ids are those of the runtime catalog; flags are the request's.
extern "C" __attribute__((visibility("default"))) uint64_t cuvet_emulate_runtime(uint32_t id, const uint64_t* words,
                                                                                 uint32_t count,
                                                                                 const cuvet::Blob* structs,
                                                                                 uint16_t flags) {
    using namespace cuvet::emulated;
    return ask(MessageKind::RUNTIME_CALL, id, words, count, structs, flags);
}
