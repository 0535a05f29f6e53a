from cuvet.model import Call, ModelView
from cuvet.model.accesses import COPIES, SETS, Access, accesses, pinned_at
from cuvet.rules.occasions import beyond_ordinary_memory
from cuvet.rules.rule import CallRule, Violations


class MemoryNotDeviceMemory(CallRule):
    """
    checks: A copy or set is given NULL or an ordinary host address where it needs device memory. In C++ also: a call of a library that
      works on the device, as one of cuSOLVER that writes `devInfo`, is given the address of a variable of the function, or of a
      scalar of the host, while its handle takes scalars from the device.
    why: The direction of a copy says what each pointer is. The driver refuses the other kind, even if it could reach the bytes.
    instead: Check the order of the arguments and the direction. ``cuMemcpy`` (``cudaMemcpyDefault``) determines the direction itself.
    limits: Reported only when the call fails: some GPUs reach pageable host memory, and memory may come from libraries that were not
      watched. Pinned and registered host memory is never reported. `cuvet check` knows scalars of cuBLAS and cuSPARSE alone, whose
      handle is set to the device by the file.
    """

    code = "CV407"
    in_source = True
    summary = "a call is given a host address where device memory is needed"
    help = "check the order of the arguments, the direction of the copy or the pointer mode, and that the allocation succeeded"
    entry_points = COPIES | SETS
    only_when = beyond_ordinary_memory
    evidence = """
    measured: a host address as the device side of a copy: CUDA_ERROR_INVALID_VALUE; cudaMemcpyDefault between host
      buffers succeeds (memcpy_host_as_device)
    measured: NULL: CUDA_ERROR_INVALID_VALUE, unless no bytes are copied (memcpy_null)
    documented: devInfo is in memory of the device (cuSOLVER, cuSolverDN, cusolverDn<t>potrf)
    documented: dstDevice is the base address of the destination, srcHost of the source (CUDA Driver API, Memory
      Management, cuMemcpyHtoD)
    documented: with CUBLAS_POINTER_MODE_DEVICE the scalars are passed by reference on the device, and all of a call have to conform to
      the one mode (cuBLAS, Using the cuBLAS API, cublasPointerMode_t, https://docs.nvidia.com/cuda/cublas/#cublaspointermode-t)
    documented: cusparseSetPointerMode sets the pointer mode; by default the values are passed by reference on the host (cuSPARSE,
      cuSPARSE Management API, cusparseSetPointerMode)
    """
    VALID = """
## no bytes
note: NULL is accepted when nothing is copied
cu.cuMemcpyHtoD(0, cu.host(64), 0)

## direction found out by the driver
note: cuMemcpy copies between any two addresses
cu.cuMemcpy(cu.host(4096), cu.host(4096), 4096)

## pinned host memory
memory = cu.cuMemAlloc(4096)
pinned = cu.cuMemHostAlloc(4096, 0)
cu.cuMemcpyHtoD(memory, pinned, 4096)
cu.cuMemFreeHost(pinned)
cu.cuMemFree(memory)

## C++: the status of a factorization on the device [c++]
bool factor(cusolverDnHandle_t handle, double *a, int n, double *work, int size, int *status) {
    int told = 0;
    CHECK(cusolverDnDgetrf(handle, n, n, a, n, work, nullptr, status));
    CHECK(cudaMemcpy(&told, status, sizeof(told), cudaMemcpyDeviceToHost));
    return told == 0;
}

## C++: scalars of the host [c++]
void multiply(cublasHandle_t handle, const float *a, const float *b, float *c, int n) {
    const float one = 1, zero = 0;
    CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n));
}

## C++: a generator of the host [c++]
float draw(curandGenerator_t generator) {
    float number = 0;
    CHECK(curandGenerateUniform(generator, &number, 1));
    return number;
}

## C++: managed memory, and a result on the host [c++]
__managed__ int shared;

float norm(cublasHandle_t handle, cusolverDnHandle_t solver, double *a, double *work, float *x, int n) {
    float result = 0;
    CHECK(cusolverDnDgetrf(solver, n, n, a, n, work, nullptr, &shared));
    CHECK(cublasSnrm2(handle, n, x, 1, &result));
    return result;
}

## C++: an object whose address is of device memory, and a registered variable [cuda]
void solve(cusolverDnHandle_t handle, int n, double *a, double *work, int *pivots) {
    OnDevice<int> info;
    CHECK(cusolverDnDgetrf(handle, n, n, a, n, work, pivots, &info));
}
void solve_registered(cusolverDnHandle_t handle, int n, double *a, double *work, int *pivots) {
    int info;
    CHECK(cudaHostRegister(&info, sizeof info, 0));
    CHECK(cusolverDnDgetrf(handle, n, n, a, n, work, pivots, &info));
    CHECK(cudaHostUnregister(&info));
}
"""
    INVALID = """
## arguments in the wrong order
memory = cu.cuMemAlloc(4096)
buffer = cu.host(4096)
cu.cuMemcpyHtoD(buffer, memory, 4096)  # error: [memory-not-device-memory]
cu.cuMemFree(memory)

## NULL
note: as after an allocation that failed
cu.cuMemsetD8(0, 0, 64)  # error: [memory-not-device-memory]

## host buffer as the source of a copy from the device
cu.cuMemcpyDtoH(cu.host(4096), cu.host(4096), 4096)  # error: [memory-not-device-memory]

## C++: the status of a factorization in a variable [c++]
bool factor(cusolverDnHandle_t handle, double *a, int n, double *work) {
    int status = 0;
    CHECK(cusolverDnDgetrf(handle, n, n, a, n, work, nullptr, &status));  // warning: [memory-not-device-memory]
    CHECK(cudaDeviceSynchronize());
    return status == 0;
}

## C++: one element of a vector in a variable [c++]
float longer(cublasHandle_t handle, const float *scale, const float *values, int n) {
    float sum = 0;
    CHECK(cublasSaxpy(handle, 1, scale, values, 1, (float *)&sum, 1));  // warning: [memory-not-device-memory]
    return sum;
}
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        touched = tuple(accesses(call))
        for access in touched:
            if access.side != "device" or model.allocation_at(access.address) or pinned_at(model, access.address):
                continue
            other = _reversed(touched, model)
            noun = access.role if access.work == "copy" else "memory"
            yield cls.refused(
                f"the {noun} {access.address:#x} is not device memory" if access.address else f"the {noun} is NULL",
                argument=access.argument,
                because=(f"the host side of the copy is {other}: the direction may be reversed",) if other else (),
                outcomes=(1, 0) if model.graphs_allocate and access.address else (1,),
            )


def _reversed(touched: tuple[Access, ...], model: ModelView) -> str:
    """Name of the device memory given where a host address belongs, or nothing."""
    for access in touched:
        memory = model.allocation_at(access.address) if access.side == "host" else None
        if memory is not None and memory.alive and memory.variant != "managed":
            return memory.name
    return ""
