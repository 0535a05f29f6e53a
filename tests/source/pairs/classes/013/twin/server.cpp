#include "scorer.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

namespace rec {

struct Request {
    std::vector<float> user;
    std::promise<std::vector<float>> reply;
};

class Server {
public:
    Server(const Catalog& cat, int device, int workers) : cat_(cat), device_(select(device))
    {
        for (int i = 0; i < workers; ++i)
            threads_.emplace_back([this] { loop(); });
    }

    ~Server()
    {
        {
            std::lock_guard<std::mutex> l(m_);
            stop_ = true;
        }
        cv_.notify_all();
        for (auto& t : threads_) t.join();
    }

    std::future<std::vector<float>> submit(std::vector<float> user)
    {
        Request r;
        r.user = std::move(user);
        auto f = r.reply.get_future();
        {
            std::lock_guard<std::mutex> l(m_);
            queue_.push_back(std::move(r));
        }
        cv_.notify_one();
        return f;
    }

private:
    static int select(int device)
    {
        REC_CUDA(cudaSetDevice(device));
        return device;
    }

    void loop()
    try {
        REC_CUDA(cudaSetDevice(device_));
        BlasHandle blas;
        Scorer scorer(cat_, blas);
        for (;;) {
            Request r;
            {
                std::unique_lock<std::mutex> l(m_);
                cv_.wait(l, [this] { return stop_ || !queue_.empty(); });
                if (queue_.empty()) return;
                r = std::move(queue_.front());
                queue_.pop_front();
            }
            try {
                std::vector<float> out(cat_.items);
                scorer.score(r.user.data(), out.data());
                r.reply.set_value(std::move(out));
            } catch (...) {
                r.reply.set_exception(std::current_exception());
            }
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "worker: %s\n", e.what());
        std::abort();
    }

    const Catalog& cat_;
    int device_;
    std::mutex m_;
    std::condition_variable cv_;
    std::deque<Request> queue_;
    bool stop_ = false;
    std::vector<std::thread> threads_;
};

} // namespace rec
