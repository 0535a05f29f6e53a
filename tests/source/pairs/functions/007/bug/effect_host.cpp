#include "kernel_cache.h"

#include <cstdio>
#include <sys/stat.h>

namespace effects {

struct Surface {
    CUdeviceptr pixels;
    int width, height, pitch;
};

class EffectHost {
public:
    EffectHost(const std::string &cubin) : cache_(cubin), path_(cubin), stamp_(mtime()) {}

    void apply(const Surface &s, float strength)
    {
        pollReload();
        launch("fx_prepare", s, strength);
        launch("fx_main", s, strength);
    }

private:
    long mtime() const
    {
        struct stat st;
        return stat(path_.c_str(), &st) == 0 ? (long)st.st_mtime : 0;
    }

    void pollReload()
    {
        long now = mtime();
        if (now == 0 || now == stamp_) return;
        try {
            cache_.reload();
            stamp_ = now;
        } catch (const std::exception &e) {
            std::fprintf(stderr, "effect not reloaded: %s\n", e.what());
        }
    }

    void launch(const char *name, const Surface &s, float strength)
    {
        CUdeviceptr px = s.pixels;
        int w = s.width, h = s.height, pitch = s.pitch;
        void *args[] = { &px, &w, &h, &pitch, &strength };
        drv(cuLaunchKernel(cache_.get(name), (w + 15) / 16, (h + 15) / 16, 1, 16, 16, 1, 0, 0,
                           args, 0),
            name);
    }

    KernelCache cache_;
    std::string path_;
    long stamp_;
};

void playEffect(const std::string &cubin, const Surface &s, int frames)
{
    EffectHost host(cubin);
    for (int i = 0; i < frames; ++i)
        host.apply(s, 0.5f + 0.5f * i / frames);
    drv(cuCtxSynchronize(), "frames");
}

}  // namespace effects
