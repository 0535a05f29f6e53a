#pragma once
#include <cuda_runtime.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trg_ctx trg_ctx;

trg_ctx *trg_open(int max_hits);
/* hits has to come from trg_buffer(); returns accepted hits or -1 */
int  trg_filter(trg_ctx *t, const uint32_t *hits, int n, uint32_t threshold);
uint32_t *trg_buffer(trg_ctx *t);
void trg_close(trg_ctx *t);

#ifdef __cplusplus
}
#endif
