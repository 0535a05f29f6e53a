# --races a kernel with more threads than there is to do, in its last block and at the ends of rows
import ctypes

text = ".version 7.0 .target sm_75 .address_size 64 .visible .entry fill(.param .u64 table, .param .u32 width, .param .u32 pitch) {"
text += ".reg .pred %p1; .reg .b32 %r<9>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [table]; ld.param.u32 %r1, [width];"
text += "ld.param.u32 %r2, [pitch]; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mad.lo.s32 %r6, %r3, %r4, %r5;"
text += "setp.ge.s32 %p1, %r6, %r1; @%p1 ret; mov.u32 %r7, %ctaid.y; mad.lo.s32 %r8, %r7, %r2, %r6; mul.wide.u32 %rd2, %r8, 4;"
text += "add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], 1; ret; }"
fill = cu.cuModuleGetFunction(cu.cuModuleLoadData(text), "fill")
a, b = cu.cuStreamCreate(1), cu.cuStreamCreate(1)


def given(table, width, pitch):
    values = ctypes.c_uint64(table), ctypes.c_uint32(width), ctypes.c_uint32(pitch)
    kept.append((values, (ctypes.c_void_p * 3)(*map(ctypes.addressof, values))))
    return ctypes.addressof(kept[-1][1])


kept = []
table = cu.cuMemAlloc(4 * 2048)
cu.cuLaunchKernel(fill, 2, 4, 1, 256, 1, 1, 0, a, given(table, 480, 512), 0)
cu.cuLaunchKernel(fill, 1, 4, 1, 256, 1, 1, 0, b, given(table + 4 * 480, 32, 512), 0)
cu.cuCtxSynchronize()

memory = cu.cuMemAlloc(4096)
cu.cuLaunchKernel(fill, 3, 1, 1, 256, 1, 1, 0, a, given(memory, 600, 0), 0)  # other
cu.cuMemsetD8Async(memory + 4 * (599 if racy else 600), 0, 4, b)  # found: [race-between-streams]
cu.cuCtxSynchronize()
