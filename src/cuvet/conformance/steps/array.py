"""Steps: arrays, textures, surfaces."""

from cuvet.catalog import Kind
from cuvet.conformance.play import Value
from cuvet.conformance.world import Nothing, Steps, Thing, World, ends, struct

_FLOAT, _SURFACE = 0x20, 2


def layout(width: int = 64) -> bytes:
    return struct("CUDA_ARRAY3D_DESCRIPTOR", Width=width, Height=64, Format=_FLOAT, NumChannels=1, Flags=_SURFACE)


def array_create(world: World) -> None:
    width = world.mostly(64, 0, 1 << 30)
    if world.rng.random() < 0.7:
        world.make(Thing(Kind.ARRAY, variant="made"), "cuArray3DCreate", pAllocateArray=layout(width))
    else:
        flat = struct("CUDA_ARRAY_DESCRIPTOR", Width=width, Height=64, Format=_FLOAT, NumChannels=1)
        world.make(Thing(Kind.ARRAY, variant="flat"), "cuArrayCreate", pAllocateArray=flat)


def array_ask(world: World) -> None:
    array = world.needed(Kind.ARRAY)
    roll = world.rng.random()
    if roll < 0.4:
        world.call("cuArray3DGetDescriptor", hArray=array, pArrayDescriptor=bytes(64))
    elif roll < 0.7:
        world.call("cuArrayGetDescriptor", hArray=array, pArrayDescriptor=bytes(64))
    elif roll < 0.8:
        world.call("cuArrayGetPlane", hArray=array, planeIdx=0)
    elif roll < 0.9:
        world.call("cuArrayGetSparseProperties", array=array, sparseProperties=bytes(64))
    else:
        device = world.any_device()
        world.call("cuArrayGetMemoryRequirements", array=array, device=device, memoryRequirements=bytes(64))


def array_copy(world: World) -> None:
    """A row, between an array and something else."""
    array, other = world.needed(Kind.ARRAY), world.needed(Kind.ARRAY)
    size = world.mostly(256, 64 << 20)
    host = world.player.memory
    to: dict[str, Value] = {"dstArray": array, "dstOffset": 0, "ByteCount": size}
    of: dict[str, Value] = {"srcArray": array, "srcOffset": 0, "ByteCount": size}
    on: dict[str, Value] = {"hStream": world.stream()}
    memory = [thing.word for thing in world.living(Kind.MEMORY) if thing.size >= 256 and not thing.apart]
    calls: list[tuple[str, dict[str, Value]]] = [
        ("cuMemcpyHtoA", {"srcHost": host, **to}),
        ("cuMemcpyHtoAAsync", {"srcHost": host, **to, **on}),
        ("cuMemcpyAtoA", {"srcArray": other, "srcOffset": 0, **to}),
    ]
    if size < 1 << 20:
        calls += [("cuMemcpyAtoH", {"dstHost": host, **of}), ("cuMemcpyAtoHAsync", {"dstHost": host, **of, **on})]
    if memory:
        address = world.rng.choice(memory)
        calls += [("cuMemcpyDtoA", {"srcDevice": address, **to}), ("cuMemcpyAtoD", {"dstDevice": address, **of})]
    name, values = world.rng.choice(calls)
    world.call(name, **values)


def struct_copy(world: World) -> None:
    """Rows of 64 bytes, described by a struct, between host, device memory and arrays."""
    flat = world.rng.random() < 0.6
    name = "CUDA_MEMCPY2D" if flat else "CUDA_MEMCPY3D"
    fields = {"WidthInBytes": 64, "Height": 1, **_end(world, "src"), **_end(world, "dst")}
    description = struct(name, **fields, **({} if flat else {"Depth": 1}))
    entry_point = world.rng.choice(("cuMemcpy2D", "cuMemcpy2DUnaligned") if flat else ("cuMemcpy3D",))
    if world.rng.random() < 0.5:
        entry_point = "cuMemcpy2DAsync" if flat else "cuMemcpy3DAsync"
        world.call(entry_point, pCopy=description, hStream=world.stream())
    else:
        world.call(entry_point, pCopy=description)


def _end(world: World, side: str) -> dict[str, int]:
    host, device, array = 1, 2, 3
    kind = world.rng.choice((host, device, array))
    if kind == host:
        return {f"{side}MemoryType": host, f"{side}Host": world.player.memory}
    if kind == array:
        return {f"{side}MemoryType": array, f"{side}Array": world.needed(Kind.ARRAY)}
    large = [thing.word for thing in world.living(Kind.MEMORY) if thing.size >= 64 and not thing.apart]
    if not large:
        raise Nothing
    return {f"{side}MemoryType": device, f"{side}Device": world.rng.choice(large)}


def mipmapped_create(world: World) -> None:
    levels = world.mostly(world.rng.choice((1, 2, 3)), 0)
    world.make(Kind.MIPMAPPED_ARRAY, "cuMipmappedArrayCreate", pMipmappedArrayDesc=layout(), numMipmapLevels=levels)


def mipmapped_ask(world: World) -> None:
    word = world.needed(Kind.MIPMAPPED_ARRAY)
    roll = world.rng.random()
    if roll < 0.8:
        world.call("cuMipmappedArrayGetLevel", hMipmappedArray=word, level=world.mostly(0, 1, 9))
    elif roll < 0.9:
        world.call("cuMipmappedArrayGetSparseProperties", mipmap=word, sparseProperties=bytes(64))
    else:
        device = world.any_device()
        world.call("cuMipmappedArrayGetMemoryRequirements", mipmap=word, device=device, memoryRequirements=bytes(64))


def texture_create(world: World) -> None:
    roll = world.rng.random()
    if roll < 0.6:
        resource = struct("CUDA_RESOURCE_DESC", res__array__hArray=world.needed(Kind.ARRAY))
    elif roll < 0.8:
        mipmapped = world.needed(Kind.MIPMAPPED_ARRAY)
        resource = struct("CUDA_RESOURCE_DESC", resType=1, res__mipmap__hMipmappedArray=mipmapped)
    else:
        thing = world.thing(Kind.MEMORY)
        resource = struct(
            "CUDA_RESOURCE_DESC",
            resType=2,
            res__linear__devPtr=thing.word,
            res__linear__format=_FLOAT,
            res__linear__numChannels=1,
            res__linear__sizeInBytes=thing.size,
        )
    if world.rng.random() < 0.6:
        description = struct("CUDA_TEXTURE_DESC")
        world.make(Kind.TEXTURE_OBJECT, "cuTexObjectCreate", pResDesc=resource, pTexDesc=description)
    else:
        world.make(Kind.SURFACE_OBJECT, "cuSurfObjectCreate", pResDesc=resource)


def texture_ask(world: World) -> None:
    name, parameter, result = world.rng.choice(
        (
            ("cuTexObjectGetResourceDesc", "texObject", "pResDesc"),
            ("cuTexObjectGetTextureDesc", "texObject", "pTexDesc"),
            ("cuTexObjectGetResourceViewDesc", "texObject", "pResViewDesc"),
            ("cuSurfObjectGetResourceDesc", "surfObject", "pResDesc"),
        )
    )
    word = world.needed(Kind.TEXTURE_OBJECT if parameter == "texObject" else Kind.SURFACE_OBJECT)
    values: dict[str, Value] = {parameter: word, result: bytes(256)}
    world.call(name, **values)


STEPS: Steps = (
    (4, array_create),
    (3, ends(Kind.ARRAY)),
    (2, array_ask),
    (3, array_copy),
    (3, struct_copy),
    (3, mipmapped_create),
    (2, mipmapped_ask),
    (2, ends(Kind.MIPMAPPED_ARRAY)),
    (5, texture_create),
    (2, texture_ask),
    (4, lambda world: world.end(world.rng.choice((Kind.TEXTURE_OBJECT, Kind.SURFACE_OBJECT)))),
)
