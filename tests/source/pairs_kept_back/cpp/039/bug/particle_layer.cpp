#include <cuda_runtime.h>

#include <cstdio>
#include <stdint.h>

// Bridge between the particle simulation and the vertex buffer of the renderer. The
// renderer registers the buffer and gives us the resource; it draws after update().

extern "C" cudaError_t launch_integrate(float4* pos, float4* vel, unsigned n, float dt,
                                        cudaStream_t s);

class ParticleLayer {
public:
    ParticleLayer(cudaGraphicsResource_t vbo, unsigned count);
    ~ParticleLayer();

    bool init();
    bool update(float dt);
    bool lost() const { return lost_; }

private:
    ParticleLayer(const ParticleLayer&);
    ParticleLayer& operator=(const ParticleLayer&);

    cudaGraphicsResource_t vbo_;   // not owned
    cudaStream_t stream_;
    float4* vel_;
    unsigned count_;
    bool lost_;
};

static bool log_if(cudaError_t e, const char* where)
{
    if (e == cudaSuccess)
        return false;
    std::fprintf(stderr, "ParticleLayer::%s: %s\n", where, cudaGetErrorString(e));
    return true;
}

ParticleLayer::ParticleLayer(cudaGraphicsResource_t vbo, unsigned count)
    : vbo_(vbo), stream_(0), vel_(0), count_(count), lost_(false)
{
}

ParticleLayer::~ParticleLayer()
{
    if (stream_)
        cudaStreamSynchronize(stream_);
    cudaFree(vel_);
    if (stream_)
        cudaStreamDestroy(stream_);
}

bool ParticleLayer::init()
{
    if (stream_)
        return true;
    if (log_if(cudaStreamCreate(&stream_), "init"))
        return false;
    if (log_if(cudaMalloc((void**)&vel_, count_ * sizeof(float4)), "init") ||
        log_if(cudaMemsetAsync(vel_, 0, count_ * sizeof(float4), stream_), "init")) {
        cudaFree(vel_);
        vel_ = 0;
        cudaStreamDestroy(stream_);
        stream_ = 0;
        return false;
    }
    return true;
}

bool ParticleLayer::update(float dt)
{
    if (!stream_)
        return false;
    if (log_if(cudaGraphicsMapResources(1, &vbo_, stream_), "map"))
        return false;

    void* ptr = 0;
    size_t bytes = 0;
    bool ok = !log_if(cudaGraphicsResourceGetMappedPointer(&ptr, &bytes, vbo_), "pointer");

    // the renderer shrinks its buffers when the window is minimised
    if (ok && bytes < count_ * sizeof(float4)) {
        lost_ = true;
        return false;
    }
    if (ok)
        ok = !log_if(launch_integrate(static_cast<float4*>(ptr), vel_, count_, dt, stream_),
                     "integrate");

    if (log_if(cudaGraphicsUnmapResources(1, &vbo_, stream_), "unmap"))
        ok = false;
    return ok;
}
