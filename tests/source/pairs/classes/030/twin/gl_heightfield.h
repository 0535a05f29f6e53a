#pragma once
#include <GL/gl.h>
#include <cuda_runtime.h>
#include <cuda_gl_interop.h>

namespace engine {

// Vertex buffer shared with OpenGL. All calls on the render thread with the
// GL context current.
class GlHeightfield {
public:
    GlHeightfield(unsigned int vbo, int dim);
    ~GlHeightfield();
    GlHeightfield(const GlHeightfield&) = delete;
    GlHeightfield& operator=(const GlHeightfield&) = delete;

    bool ok() const { return res_ != nullptr; }

    // false: nothing written this frame, GL draws the previous heights
    bool update(float time, cudaStream_t stream);

private:
    cudaGraphicsResource_t res_ = nullptr;
    int dim_;
};

void launchWaves(float4* verts, int dim, float time, cudaStream_t stream);

} // namespace engine
