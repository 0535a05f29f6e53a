# --races two kernel nodes of a graph that is built by hand
import ctypes

text = ".version 7.0 .target sm_75 .address_size 64 .visible .entry store(.param .u64 memory) {"
text += ".reg .b64 %rd<2>; ld.param.u64 %rd1, [memory]; st.global.u32 [%rd1], 1; ret; }"
store = cu.cuModuleGetFunction(cu.cuModuleLoadData(text), "store")
value = ctypes.c_uint64(cu.cuMemAlloc(64))
given = (ctypes.c_void_p * 1)(ctypes.addressof(value))
ones = {f"{what}Dim{axis}": 1 for what in ("grid", "block") for axis in "XYZ"}
described = cu.struct("CUDA_KERNEL_NODE_PARAMS", func=store, kernelParams=ctypes.addressof(given), **ones)
in_struct = cu.struct("CUgraphNodeParams", kernel=described)
graph = cu.cuGraphCreate(0)
first = cu.cuGraphAddKernelNode(graph, None, 0, described)  # other
cu.cuGraphAddNode(graph, None if racy else [first], None, 0 if racy else 1, in_struct)  # found: [race-in-graph]
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
