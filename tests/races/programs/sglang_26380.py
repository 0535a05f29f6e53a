# --races https://github.com/sgl-project/sglang/issues/26380
# The schedule's stream writes the index map of the next batch while the forward pass of this one reads it.
text = ".version 7.0 .target sm_75 .address_size 64 .visible .entry forward(.param .u64 map, .param .u64 tokens) {"
text += ".reg .b64 %rd<3>; .reg .b32 %r1; ld.param.u64 %rd1, [map]; ld.param.u64 %rd2, [tokens];"
text += "ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1; ret; }"
forward = cu.cuModuleGetFunction(cu.cuModuleLoadData(text), "forward")
schedule, compute = cu.cuStreamCreate(1), cu.cuStreamCreate(1)
scheduled, computed = cu.cuEventCreate(2), cu.cuEventCreate(2)
requests, index_map, tokens = cu.cuMemAllocHost(1024), cu.cuMemAlloc(1024), cu.cuMemAlloc(1024)
for _ in range(3):
    if not racy:
        cu.cuStreamWaitEvent(schedule, computed, 0)
    cu.cuMemcpyHtoDAsync(index_map, requests, 1024, schedule)  # found: [race-between-streams]
    cu.cuEventRecord(scheduled, schedule)
    cu.cuStreamWaitEvent(compute, scheduled, 0)
    cu.launch(forward, compute, index_map, tokens)  # other
    cu.cuEventRecord(computed, compute)
cu.cuCtxSynchronize()
