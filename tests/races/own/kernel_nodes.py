# --races kernel nodes of a graph that is built by hand, and changed before its second launch
import ctypes

text = ".version 7.0 .target sm_75 .address_size 64 .visible .entry store(.param .u64 memory) {"
text += ".reg .b64 %rd<2>; ld.param.u64 %rd1, [memory]; st.global.u32 [%rd1], 1; ret; }"
store = cu.cuModuleGetFunction(cu.cuModuleLoadData(text), "store")
memory, other = cu.cuMemAlloc(64), cu.cuMemAlloc(64)


def node(address):
    value = ctypes.c_uint64(address)
    given = (ctypes.c_void_p * 1)(ctypes.addressof(value))
    ones = {f"{what}Dim{axis}": 1 for what in ("grid", "block") for axis in "XYZ"}
    kept.append((value, given))
    return cu.struct("CUDA_KERNEL_NODE_PARAMS", func=store, kernelParams=ctypes.addressof(given), **ones)


kept = []
graph = cu.cuGraphCreate(0)
changed = cu.cuGraphAddKernelNode(graph, None, 0, node(memory))
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
a, b = cu.cuStreamCreate(1), cu.cuStreamCreate(1)
cu.cuGraphLaunch(executable, a)
cu.cuCtxSynchronize()
cu.cuGraphExecKernelNodeSetParams(executable, changed, node(other if racy else memory))
cu.cuGraphLaunch(executable, a)  # other
cu.cuMemsetD8Async(other, 0, 64, b)  # found: [race-between-streams]
cu.cuCtxSynchronize()
