#include "host_functions.h"

#include <pthread.h>
#include <unistd.h>

#include <deque>
#include <map>
#include <mutex>

namespace cuvet::emulated {

namespace {

struct Queue {
    std::mutex mutex;
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    std::deque<HostFunction> waiting;
    uint64_t unfinished = 0;
};

struct Queues {
    pid_t process = getpid();
    std::mutex mutex;
    std::map<uint64_t, Queue*> by_key;
};

thread_local bool is_worker = false;

// A forked child starts with none: the worker threads are its parent's.
Queues& queues() {
    static std::mutex mutex;
    static Queues* all = nullptr;
    std::lock_guard<std::mutex> lock(mutex);
    if (!all || all->process != getpid()) all = new Queues;
    return *all;
}

void call(const HostFunction& task) {
    void* user_data = reinterpret_cast<void*>(task.user_data);
    if (task.callback == Callback::STREAM_CALLBACK) {
        reinterpret_cast<void (*)(void*, int, void*)>(task.function)(reinterpret_cast<void*>(task.stream),
                                                                     static_cast<int>(task.status), user_data);
    } else {  // CUhostFn
        reinterpret_cast<void (*)(void*)>(task.function)(user_data);
    }
}

void* work(void* argument) {
    Queue& queue = *static_cast<Queue*>(argument);
    is_worker = true;
    for (;;) {
        std::unique_lock<std::mutex> lock(queue.mutex);
        while (queue.waiting.empty()) pthread_cond_wait(&queue.changed, queue.mutex.native_handle());
        const HostFunction task = queue.waiting.front();
        queue.waiting.pop_front();
        lock.unlock();
        call(task);
        lock.lock();
        queue.unfinished--;
        pthread_cond_broadcast(&queue.changed);
    }
}

Queue* queue_of(uint64_t key) {
    Queues& all = queues();
    std::lock_guard<std::mutex> lock(all.mutex);
    Queue*& queue = all.by_key[key];
    if (queue) return queue;
    Queue* made = new Queue;
    pthread_t thread;
    if (pthread_create(&thread, nullptr, work, made) != 0) {
        delete made;
        return nullptr;
    }
    pthread_detach(thread);
    return queue = made;
}

uint64_t outstanding_in(Queue& queue, bool wait) {
    std::unique_lock<std::mutex> lock(queue.mutex);
    while (wait && queue.unfinished != 0) pthread_cond_wait(&queue.changed, queue.mutex.native_handle());
    return queue.unfinished;
}

}  // namespace

bool enqueue(uint64_t key, const HostFunction& function) {
    Queue* queue = queue_of(key);
    if (!queue) return false;
    std::lock_guard<std::mutex> lock(queue->mutex);
    queue->waiting.push_back(function);
    queue->unfinished++;
    pthread_cond_broadcast(&queue->changed);
    return true;
}

bool runs_host_functions() { return is_worker; }

uint64_t outstanding(uint64_t key, bool wait) {
    Queues& all = queues();
    std::unique_lock<std::mutex> lock(all.mutex);
    std::map<uint64_t, Queue*> chosen = all.by_key;
    lock.unlock();
    uint64_t total = 0;
    for (const auto& [queue_key, queue] : chosen) {
        if (key == 0 || key == queue_key) total += outstanding_in(*queue, wait);
    }
    return total;
}

}  // namespace cuvet::emulated
