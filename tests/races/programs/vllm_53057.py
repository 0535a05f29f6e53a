# --guard https://github.com/vllm-project/vllm/pull/53057
# A kernel reads pinned memory in place; the CPU writes the slot again before the kernel is done.
import ctypes

text = ".version 7.0 .target sm_75 .address_size 64 .visible .entry gather(.param .u64 slot, .param .u64 out) {"
text += ".reg .b64 %rd<3>; .reg .b32 %r1; ld.param.u64 %rd1, [slot]; ld.param.u64 %rd2, [out];"
text += "ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1; ret; }"
gather = cu.cuModuleGetFunction(cu.cuModuleLoadData(text), "gather")
stream = cu.cuStreamCreate(1)
slot, out = cu.cuMemAllocHost(4096), cu.cuMemAlloc(4096)
cu.launch(gather, stream, slot, out)  # other
if not racy:
    cu.cuStreamSynchronize(stream)
ctypes.memset(slot, 1, 4096)  # found: [race-with-host]
cu.cuStreamSynchronize(stream)
