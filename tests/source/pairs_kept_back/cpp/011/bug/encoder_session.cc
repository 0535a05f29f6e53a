#include "encoder_session.h"

#include <cstdio>
#include <cstring>

namespace {

bool Ok(CUresult r, const char* what) {
  if (r == CUDA_SUCCESS) return true;
  const char* name = NULL;
  cuGetErrorName(r, &name);
  std::fprintf(stderr, "encoder: %s: %s\n", what, name ? name : "?");
  return false;
}

class CtxScope {
 public:
  explicit CtxScope(CUcontext c) { ok_ = Ok(cuCtxPushCurrent(c), "push"); }
  ~CtxScope() { CUcontext old; if (ok_) cuCtxPopCurrent(&old); }
  bool ok() const { return ok_; }
 private:
  bool ok_;
};

}  // namespace

EncoderSession::EncoderSession(CUcontext ctx, int width, int height)
    : ctx_(ctx), width_(width), height_(height), surface_(0), pitch_(0), stream_(NULL) {}

EncoderSession::~EncoderSession() { Close(); }

bool EncoderSession::Open() {
  if (stream_) return false;
  CtxScope scope(ctx_);
  if (!scope.ok()) return false;
  if (!Ok(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "stream")) return false;
  if (!Ok(cuMemAllocPitch(&surface_, &pitch_, width_, height_ * 3 / 2, 16), "surface")) {
    cuStreamDestroy(stream_);
    stream_ = NULL;
    return false;
  }
  return true;
}

bool EncoderSession::CopyPlane(const unsigned char* src, int src_pitch, size_t row, int rows) {
  CUDA_MEMCPY2D c;
  std::memset(&c, 0, sizeof(c));
  c.srcMemoryType = CU_MEMORYTYPE_HOST;
  c.srcHost = src;
  c.srcPitch = src_pitch;
  c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  c.dstDevice = surface_ + row * pitch_;
  c.dstPitch = pitch_;
  c.WidthInBytes = width_;
  c.Height = rows;
  return Ok(cuMemcpy2DAsync(&c, stream_), "plane");
}

bool EncoderSession::SubmitNv12(const unsigned char* y, const unsigned char* uv, int src_pitch) {
  if (!stream_) return false;
  CtxScope scope(ctx_);
  if (!scope.ok()) return false;
  bool good = CopyPlane(y, src_pitch, 0, height_) &&
              CopyPlane(uv, src_pitch, height_, height_ / 2);
  return Ok(cuStreamSynchronize(stream_), "sync") && good;
}

// May be called at any time; the application calls it at end of stream.
void EncoderSession::Close() {
  if (!stream_) return;
  CtxScope scope(ctx_);
  if (!scope.ok()) return;
  cuMemFree(surface_);
  cuStreamDestroy(stream_);
}
