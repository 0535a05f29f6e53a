# --races https://github.com/OpenPPL/ppl.cv/issues/135
# A helper sets its constants on the default stream, which does not wait for the non-blocking stream of the request before.
text = ".version 7.0 .target sm_75 .address_size 64 .visible .entry warp(.param .u64 constants, .param .u64 image) {"
text += ".reg .b64 %rd<3>; .reg .b32 %r1; ld.param.u64 %rd1, [constants]; ld.param.u64 %rd2, [image];"
text += "ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1; ret; }"
warp = cu.cuModuleGetFunction(cu.cuModuleLoadData(text), "warp")
request = cu.cuStreamCreate(1)
constants, image, pinned = cu.cuMemAlloc(64), cu.cuMemAlloc(4096), cu.cuMemAllocHost(64)
for _ in range(2):
    if racy:
        cu.cuMemcpyHtoD(constants, pinned, 64)  # found: [race-between-streams]
    else:
        cu.cuMemcpyHtoDAsync(constants, pinned, 64, request)
    cu.launch(warp, request, constants, image)  # other
cu.cuStreamSynchronize(request)
