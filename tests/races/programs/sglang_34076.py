# --races https://github.com/sgl-project/sglang/pull/34076
# The copy stream still reads a tensor that the allocator has given to the next one on the forward stream: record_stream was forgotten.
# The allocator keeps blocks of its own, so that CUDA sees neither the free nor the allocation.
text = ".version 7.0 .target sm_75 .address_size 64 .visible .entry sample(.param .u64 logits) {"
text += ".reg .b64 %rd<2>; ld.param.u64 %rd1, [logits]; st.global.u32 [%rd1], 1; ret; }"
sample = cu.cuModuleGetFunction(cu.cuModuleLoadData(text), "sample")
forward, copies = cu.cuStreamCreate(1), cu.cuStreamCreate(1)
sampled, copied = cu.cuEventCreate(2), cu.cuEventCreate(2)
result, block = cu.cuMemAllocHost(4096), cu.cuMemAlloc(4096)
cu.launch(sample, forward, block)
cu.cuEventRecord(sampled, forward)
cu.cuStreamWaitEvent(copies, sampled, 0)
cu.cuMemcpyDtoHAsync(result, block, 4096, copies)  # other
if not racy:
    cu.cuEventRecord(copied, copies)
    cu.cuStreamWaitEvent(forward, copied, 0)
cu.launch(sample, forward, block)  # found: [race-between-streams]
cu.cuCtxSynchronize()
