# --races https://github.com/meta-pytorch/torchrec/issues/4231
# A prefetch stream makes a batch's embeddings; the block goes back to its pool with no record of the stream that still reads it.
text = ".version 7.0 .target sm_75 .address_size 64 .visible .entry lookup(.param .u64 out, .param .u64 table) {"
text += ".reg .b64 %rd<3>; .reg .b32 %r1; ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [table];"
text += "ld.global.u32 %r1, [%rd2]; st.global.u32 [%rd1], %r1; ret; }"
lookup = cu.cuModuleGetFunction(cu.cuModuleLoadData(text), "lookup")
prefetch, train = cu.cuStreamCreate(1), cu.cuStreamCreate(1)
ready, used = cu.cuEventCreate(2), cu.cuEventCreate(2)
table, block, gradient = cu.cuMemAlloc(4096), cu.cuMemAlloc(4096), cu.cuMemAlloc(4096)
for _ in range(3):
    if not racy:
        cu.cuStreamWaitEvent(prefetch, used, 0)
    cu.launch(lookup, prefetch, block, table)  # found: [race-between-streams]
    cu.cuEventRecord(ready, prefetch)
    cu.cuStreamWaitEvent(train, ready, 0)
    cu.launch(lookup, train, gradient, block)  # other
    cu.cuEventRecord(used, train)
cu.cuCtxSynchronize()
