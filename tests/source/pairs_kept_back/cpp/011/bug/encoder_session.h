#ifndef ENCODER_SESSION_H_
#define ENCODER_SESSION_H_

#include <cuda.h>

// Input side of a hardware encoder session. The caller owns the context and keeps it
// alive longer than the session.
class EncoderSession {
 public:
  EncoderSession(CUcontext ctx, int width, int height);
  virtual ~EncoderSession();

  bool Open();
  bool SubmitNv12(const unsigned char* y, const unsigned char* uv, int src_pitch);
  void Close();

  CUdeviceptr surface() const { return surface_; }
  size_t pitch() const { return pitch_; }

 private:
  EncoderSession(const EncoderSession&);
  EncoderSession& operator=(const EncoderSession&);

  bool CopyPlane(const unsigned char* src, int src_pitch, size_t row, int rows);

  CUcontext ctx_;
  int width_, height_;
  CUdeviceptr surface_;
  size_t pitch_;
  CUstream stream_;
};

#endif
