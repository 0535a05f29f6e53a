from cuvet.catalog import driver
from cuvet.model import Call, ModelView
from cuvet.rules.rule import CallRule, Violations

_GRID = (2**31 - 1, 65535, 65535)
_BLOCK = (1024, 1024, 64)
_THREADS = 1024
_SHARED = 48 * 1024
"""Dynamic shared memory that every function may have without asking."""

_DIMENSIONS = ("gridDimX", "gridDimY", "gridDimZ", "blockDimX", "blockDimY", "blockDimZ", "sharedMemBytes")


class LaunchImpossibleConfiguration(CallRule):
    """
    checks: A kernel is launched with a grid or block that no device has: a dimension of zero, a dimension above its limit,
      more than 1024 threads in a block; or with more than 48 KiB of dynamic shared memory where that fails.
    why: The launch fails and the kernel does not run. The launch itself returns nothing in CUDA C++: without a look at
      ``cudaGetLastError`` the program goes on with results that were never computed.
    instead: Skip launches with nothing to do. Round the number of blocks up. For more than 48 KiB of dynamic shared memory,
      set CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES (``cudaFuncAttributeMaxDynamicSharedMemorySize``) first.
    limits: Not for limits of the function itself (registers, ``__launch_bounds__``, static shared memory) and of clusters.
      In C++, `cuvet check` knows blocks of numbers and of constants that the file defines once, in launches with ``<<<>>>``.
      In Python, it knows blocks of numbers that stand in the file, for kernels of CuPy (`RawKernel`, `RawModule`) and Numba
      that are made in it. In C#, it knows blocks of numbers and constants that ``BlockDimensions`` of a kernel of ManagedCuda is set
      to, right before the launch.
    """

    code = "CV921"
    same_for_alike = True
    summary = "a kernel is launched with a grid, block or shared memory that is not possible"
    help = (
        "at most 1024 threads in a block, and no dimension zero; before a launch with more than 48 KiB of dynamic shared memory, "
        "allow it with cudaFuncSetAttribute (cuFuncSetAttribute)"
    )
    entry_points = frozenset({"cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel"})
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE for too many threads, dimensions above 1024 x 1024 x 64 or of zero, grids above
      65535 in y, and more than 49152 bytes of dynamic shared memory (launch_bad_config, launch_too_many_threads)
    measured: 200 KiB of dynamic shared memory after setting the attribute: success (launch_shared_opt_in)
    documented: maximum x-, y- and z-dimension of a grid 2^31-1, 65535, 65535; of a block 1024, 1024, 64; 1024 threads
      per block (CUDA Programming Guide, Compute Capabilities, Technical Specifications)
    documented: a kernel of CuPy is called with the grid, the dimensions of each thread block, and the arguments (CuPy documentation,
      cupy.RawKernel)
    documented: a kernel of Numba is configured as func[griddim, blockdim, stream, sharedmem]; griddim and blockdim are integers or
      tuples (Numba-CUDA documentation, CUDA Kernel API, Dispatcher objects)
    documented: BlockDimensions sets the thread block dimensions, with which Run and RunAsync call cuLaunchKernel (ManagedCuda's source,
      CudaKernel.cs)
    documented: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: the maximum size of dynamically-allocated shared memory
      of a function (CUDA Driver API, Execution Control, cuFuncSetAttribute)
    """
    VALID = """
## largest block
kernel = cu.kernel()
arguments = [cu.host(8)]
cu.cuLaunchKernel(kernel, 1, 1, 1, 1024, 1, 1, 0, 0, arguments, 0)
cu.cuCtxSynchronize()

## 48 KiB of shared memory
kernel = cu.kernel()
arguments = [cu.host(8)]
cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 49152, 0, arguments, 0)
cu.cuCtxSynchronize()

## more shared memory after asking for it
note: 8 is CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
kernel = cu.kernel()
arguments = [cu.host(8)]
cu.cuFuncSetAttribute(kernel, 8, 65536)
cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 65536, 0, arguments, 0)
cu.cuCtxSynchronize()
"""
    INVALID = """
## too many threads
kernel = cu.kernel()
arguments = [cu.host(8)]
cu.cuLaunchKernel(kernel, 1, 1, 1, 2048, 1, 1, 0, 0, arguments, 0)  # error: [launch-impossible-configuration]

## nothing to do
kernel = cu.kernel()
arguments = [cu.host(8)]
blocks = 0 // 256
cu.cuLaunchKernel(kernel, blocks, 1, 1, 256, 1, 1, 0, 0, arguments, 0)  # error: [launch-impossible-configuration]

## too much shared memory
kernel = cu.kernel()
arguments = [cu.host(8)]
cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 307200, 0, arguments, 0)  # error: [launch-impossible-configuration]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        configuration = _configuration(call)
        if configuration is None:
            return
        problem = problem_of(configuration)
        if problem is None:
            return
        parameter, message = problem
        # Whether a function may have more than 48 KiB of shared memory is not known: the model expects the launch to succeed.
        certain = parameter != "sharedMemBytes" or configuration[6] > 256 * 1024
        yield cls.refused(
            message, argument=call.entry_point.index.get(parameter, 0), outcomes=(1,) if certain else (0, 1)
        )


def _configuration(call: Call) -> tuple[int, ...] | None:
    """Grid, block and dynamic shared memory of a launch; None if the struct that holds them was not recorded."""
    if call.name != "cuLaunchKernelEx":
        return tuple(call.arg(name) & 0xFFFFFFFF for name in _DIMENSIONS)
    data = call.inputs.get(call.index("config"), b"")
    fields = driver().structs["CUlaunchConfig"].fields
    if len(data) < fields["sharedMemBytes"][0] + 4:
        return None
    return tuple(int.from_bytes(data[fields[name][0] :][:4], "little") for name in _DIMENSIONS)


def problem_of(configuration: tuple[int, ...]) -> tuple[str, str] | None:
    """Parameter at fault, and message, of a grid, a block and bytes of dynamic shared memory; None if they are possible."""
    grid, block, shared = configuration[:3], configuration[3:6], configuration[6]
    for noun, sizes, limits, names in (("grid", grid, _GRID, _DIMENSIONS), ("block", block, _BLOCK, _DIMENSIONS[3:])):
        text = f"{noun} of {sizes[0]} x {sizes[1]} x {sizes[2]}"
        for size, limit, name in zip(sizes, limits, names, strict=False):
            if size == 0:
                return name, f"{text}: the {name[-1].lower()} dimension is zero"
            if size > limit:
                return name, f"{text}: the {name[-1].lower()} dimension is above {limit}"
    threads = block[0] * block[1] * block[2]
    if threads > _THREADS:
        return "blockDimX", f"block of {block[0]} x {block[1]} x {block[2]} has {threads} threads, more than {_THREADS}"
    if shared > _SHARED:
        return (
            "sharedMemBytes",
            f"{shared} bytes of dynamic shared memory, more than the {_SHARED} that need no attribute",
        )
    return None
