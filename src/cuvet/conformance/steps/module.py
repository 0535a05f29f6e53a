"""Steps: modules, libraries, functions, launches, the linker."""

from cuvet.catalog import Kind
from cuvet.conformance.play import Value
from cuvet.conformance.world import ONE_THREAD, Steps, Thing, World, ends, struct
from cuvet.rules.programs import PTX

_PTX_OF_OTHER = b".version 7.0\n.target sm_999\n.address_size 64\n.visible .entry k(){ ret; }\n\0"
_PTX_WITH_VARIABLE = PTX.rstrip(b"\0") + b".visible .global .align 8 .b8 variable[64];\n\0"
_IN_PTX = 1


def module_load(world: World) -> None:
    image = world.rng.choice((PTX, PTX, _PTX_WITH_VARIABLE))
    if world.rng.random() < 0.05:
        image = world.rng.choice((b"\x7fELF" + bytes(60), b"text\0", _PTX_OF_OTHER))
    roll = world.rng.random()
    if roll < 0.4:
        world.make(Kind.MODULE, "cuModuleLoadData", image=image)
    elif roll < 0.6:
        world.make(Kind.MODULE, "cuModuleLoadDataEx", image=image)
    else:
        world.make(Kind.CULIBRARY, "cuLibraryLoadData", code=image)


def function_get(world: World) -> None:
    name = "trivial" if world.rng.random() < 0.9 else "absent"
    if world.rng.random() < 0.6:
        module = world.needed(Kind.MODULE)
        world.make(Thing(Kind.FUNCTION, parent=module), "cuModuleGetFunction", hmod=module, name=name)
    else:
        library = world.needed(Kind.CULIBRARY)
        world.make(Thing(Kind.KERNEL, parent=library), "cuLibraryGetKernel", library=library, name=name)


def module_ask(world: World) -> None:
    name = "variable" if world.rng.random() < 0.8 else "absent"
    calls: tuple[tuple[str, str, dict[str, Value]], ...] = (
        ("cuModuleGetFunctionCount", "mod", {}),
        ("cuModuleEnumerateFunctions", "mod", {"functions": bytes(8), "numFunctions": 1}),
        ("cuModuleGetGlobal", "hmod", {"name": name}),
        ("cuLibraryGetKernelCount", "lib", {}),
        ("cuLibraryEnumerateKernels", "lib", {"kernels": bytes(8), "numKernels": 1}),
        ("cuLibraryGetGlobal", "library", {"name": name}),
        ("cuLibraryGetManaged", "library", {"name": name}),
        ("cuLibraryGetUnifiedFunction", "library", {"symbol": "absent"}),
        ("cuLibraryGetModule", "library", {}),
    )
    entry_point, parameter, values = world.rng.choice(calls)
    kind = Kind.MODULE if entry_point.startswith("cuModule") else Kind.CULIBRARY
    world.call(entry_point, **{parameter: world.needed(kind)}, **values)


def function_ask(world: World) -> None:
    function = world.needed(Kind.FUNCTION)
    attribute = world.mostly(world.rng.choice((0, 1, 4)), 99)
    calls: tuple[tuple[str, dict[str, Value]], ...] = (
        ("cuFuncGetAttribute", {"attrib": attribute, "hfunc": function}),
        ("cuFuncGetModule", {"hfunc": function}),
        ("cuFuncGetName", {"hfunc": function}),
        ("cuFuncGetParamCount", {"func": function}),
        ("cuFuncGetParamInfo", {"func": function, "paramIndex": world.mostly(0, 5)}),
        ("cuFuncIsLoaded", {"function": function}),
        ("cuFuncLoad", {"function": function}),
        ("cuFuncSetAttribute", {"attrib": world.mostly(8, 0, 99), "hfunc": function, "value": world.mostly(1024, -1)}),
        ("cuFuncSetCacheConfig", {"hfunc": function, "config": world.mostly(1, 99)}),
        ("cuFuncSetSharedMemConfig", {"hfunc": function, "config": world.mostly(1, 99)}),
    )
    name, values = world.rng.choice(calls)
    world.call(name, **values)


def kernel_ask(world: World) -> None:
    kernel, device = world.needed(Kind.KERNEL), world.any_device()
    attribute = world.mostly(world.rng.choice((0, 1, 4)), 99)
    calls: tuple[tuple[str, dict[str, Value]], ...] = (
        ("cuKernelGetFunction", {"kernel": kernel}),
        ("cuKernelGetFunction", {"kernel": kernel}),
        ("cuKernelGetAttribute", {"attrib": attribute, "kernel": kernel, "dev": device}),
        ("cuKernelGetLibrary", {"kernel": kernel}),
        ("cuKernelGetName", {"hfunc": kernel}),
        ("cuKernelGetParamCount", {"kernel": kernel}),
        ("cuKernelGetParamInfo", {"kernel": kernel, "paramIndex": world.mostly(0, 5)}),
        ("cuKernelSetAttribute", {"attrib": 8, "val": 1024, "kernel": kernel, "dev": device}),
        ("cuKernelSetCacheConfig", {"kernel": kernel, "config": 1, "dev": device}),
    )
    name, values = world.rng.choice(calls)
    world.call(name, **values)


def occupancy(world: World) -> None:
    function, threads = world.needed(Kind.FUNCTION), world.mostly(32, 0, 4096)
    shape = launch_shape(0)
    calls: tuple[tuple[str, dict[str, Value]], ...] = (
        ("cuOccupancyMaxActiveBlocksPerMultiprocessor", {"blockSize": threads}),
        (
            "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
            {"blockSize": threads, "flags": world.mostly(0, 1, 7)},
        ),
        ("cuOccupancyAvailableDynamicSMemPerBlock", {"numBlocks": 1, "blockSize": threads}),
        ("cuOccupancyMaxPotentialBlockSize", {"blockSizeLimit": 0}),
        ("cuOccupancyMaxPotentialBlockSizeWithFlags", {"blockSizeLimit": 0, "flags": world.mostly(0, 1)}),
        ("cuOccupancyMaxPotentialClusterSize", {"config": shape}),
        ("cuOccupancyMaxActiveClusters", {"config": shape}),
    )
    name, values = world.rng.choice(calls)
    world.call(name, func=function, **values)


def launch_shape(stream: int) -> bytes:
    """Of one thread, without attributes."""
    return struct("CUlaunchConfig", hStream=stream, **ONE_THREAD)


def launch(world: World) -> None:
    function = world.needed(world.rng.choice((Kind.FUNCTION, Kind.FUNCTION, Kind.KERNEL)))
    stream, arguments = world.stream(), (world.word(Kind.MEMORY),)
    roll = world.rng.random()
    if roll < 0.6:
        shape = {**ONE_THREAD, "blockDimX": world.mostly(1, 32, 1024, 0, 2048)}
        world.call("cuLaunchKernel", f=function, hStream=stream, kernelParams=arguments, **shape)
    elif roll < 0.8:
        world.call("cuLaunchKernelEx", f=function, config=launch_shape(stream), kernelParams=arguments)
    else:
        world.call("cuLaunchCooperativeKernel", f=function, hStream=stream, kernelParams=arguments, **ONE_THREAD)


def linker_use(world: World) -> None:
    linker = world.needed(Kind.LINKER)
    roll = world.rng.random()
    if roll < 0.5:
        image = PTX if world.rng.random() < 0.95 else b"text\0"
        world.call("cuLinkAddData", state=linker, type=_IN_PTX, data=image, size=len(image), name="part")
    elif roll < 0.7:
        world.call("cuLinkComplete", state=linker)
    else:
        world.end(Kind.LINKER)


STEPS: Steps = (
    (4, module_load),
    (2, ends(Kind.MODULE)),
    (1, ends(Kind.CULIBRARY)),
    (6, function_get),
    (2, module_ask),
    (4, function_ask),
    (3, kernel_ask),
    (2, occupancy),
    (8, launch),
    (1, lambda world: world.make(Kind.LINKER, "cuLinkCreate")),
    (2, linker_use),
)
