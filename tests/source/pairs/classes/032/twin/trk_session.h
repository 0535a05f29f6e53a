#ifndef TRK_SESSION_H
#define TRK_SESSION_H

#include <stddef.h>
#include <stdint.h>
#include <cuda_runtime_api.h>

#define TRK_LEVELS 4

struct trk_session {
    int          width, height;
    cudaStream_t stream;
    cudaEvent_t  level_done[TRK_LEVELS];
    uint8_t     *pyramid[TRK_LEVELS];
};

#ifdef __cplusplus
extern "C" {
#endif

/* NULL when the GPU is out of resources */
struct trk_session *trk_session_new(int width, int height);
void trk_session_free(struct trk_session *s);
int  trk_session_load(struct trk_session *s, const uint8_t *luma);

#ifdef __cplusplus
}
#endif
#endif
