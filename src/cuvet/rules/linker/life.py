from cuvet.catalog.roles import Kind
from cuvet.rules.families import DESTROYED_TWICE
from cuvet.rules.lives import Life, Mistake, Spelled
from cuvet.rules.rule import CRASH

LIFE = Life(
    kind=Kind.LINKER,
    name="linker",
    make="cu.cuLinkCreate(0, 0, 0)",
    end="cu.cuLinkDestroy({})",
    cpp=Spelled(type="CUlinkState", make="cuLinkCreate(0, nullptr, nullptr, &linker)", end="cuLinkDestroy(linker)"),
    python=Spelled(make="error, linker = driver.cuLinkCreate(0, [], [])", end="error, = driver.cuLinkDestroy(linker)"),
    mistakes=(
        Mistake(DESTROYED_TWICE, "CV662", (CRASH,), without=("handle issued again", "destroyed by two threads")),
    ),
)

TEXTS = """
# linker-destroy-twice
why: The first call destroys the state of the linker. The second was recorded to die of SIGSEGV inside the driver.
recorded: a second cuLinkDestroy of a linker, the one time: SIGSEGV
documented: cuLinkDestroy destroys the state of the linker (CUDA Driver API, Module Management, cuLinkDestroy)

# linker-destroy-twice: right

## handle issued again
note: the new one may have the old handle value
linker = cu.cuLinkCreate(0, 0, 0)
cu.cuLinkDestroy(linker)
linker = cu.cuLinkCreate(0, 0, 0)
cu.cuLinkDestroy(linker)

## C++: destroyed once the module is loaded [c++]
bool link(const char *ptx, size_t size, CUmodule *module) {
    CUlinkState linker;
    void *image = nullptr;
    cuLinkCreate(0, nullptr, nullptr, &linker);
    cuLinkAddData(linker, CU_JIT_INPUT_PTX, (void *)ptx, size, "kernel.ptx", 0, nullptr, nullptr);
    CUresult linked = cuLinkComplete(linker, &image, nullptr);
    if (linked == CUDA_SUCCESS)
        cuModuleLoadData(module, image);
    cuLinkDestroy(linker);
    return linked == CUDA_SUCCESS;
}
"""
