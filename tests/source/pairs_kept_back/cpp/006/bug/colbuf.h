#ifndef COLBUF_H
#define COLBUF_H

#include <cuda_runtime_api.h>
#include <stddef.h>

/* One column of a batch on its way from the parser to the GPU. */
struct colbuf {
    char   name[64];
    size_t elem;      /* bytes in a value */
    size_t rows;
    size_t cap;
    void  *stage;     /* filled by the parser */
    void  *dev;
};

struct colbuf *colbuf_new(const char *name, size_t elem, size_t cap);
int  colbuf_push(struct colbuf *c, const void *value);
int  colbuf_flush(struct colbuf *c, cudaStream_t s);
void colbuf_del(struct colbuf *c);

#endif
