"""Steps: contexts and devices."""

from cuvet.catalog import Kind
from cuvet.conformance.play import Value
from cuvet.conformance.world import Nothing, Steps, Thing, World


def context_create(world: World) -> None:
    """Rarely, since the driver takes 0.1 s for it, and makes other processes wait."""
    if len(world.living(Kind.CONTEXT)) > 4:
        raise Nothing
    world.some(0.35)
    device = world.rng.randrange(world.devices)
    row = world.call("cuCtxCreate", dev=device)
    if row.status == 0:
        world.met(row.outputs[0], device, "user")
        world.stacks.setdefault(world.thread, []).append(row.outputs[0])


def context_destroy(world: World) -> None:
    found = [thing for thing in world.living(Kind.CONTEXT) if thing.variant == "user"]
    if not found or world.capturing:
        raise Nothing
    world.some(0.5)
    word = world.rng.choice(found).word
    if world.call("cuCtxDestroy", ctx=word).status == 0:
        world.kill_context(word)
        if world.context == word:
            world.stacks[world.thread].pop()


def context_set(world: World) -> None:
    word = world.word(Kind.CONTEXT)
    if world.call("cuCtxSetCurrent", ctx=word).status == 0:
        stack = world.stacks.setdefault(world.thread, [])
        stack[-1:] = [word] if word else []


def context_push(world: World) -> None:
    word = world.word(Kind.CONTEXT)
    if world.call("cuCtxPushCurrent", ctx=word).status == 0:
        world.stacks.setdefault(world.thread, []).append(word)


def context_pop(world: World) -> None:
    row = world.call("cuCtxPopCurrent")
    if row.status == 0 and world.context:
        world.stacks[world.thread].pop()


def primary_retain(world: World) -> None:
    device = world.any_device()
    row = world.call("cuDevicePrimaryCtxRetain", dev=device)
    if row.status == 0:
        world.met(row.outputs[0], device, "primary")


def primary_end(world: World) -> None:
    """Release or reset; rarely, since much ends with it."""
    if world.capturing:
        raise Nothing
    world.some(0.1)
    device = world.rng.randrange(world.devices)
    name = world.rng.choice(("cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxRelease"))
    row = world.call(name, dev=device)
    active = world.call("cuDevicePrimaryCtxGetState", dev=device)
    if row.status == 0 and active.outputs.get(2) == 0:
        for thing in world.living(Kind.CONTEXT):
            if thing.device == device and thing.variant == "primary":
                world.kill_context(thing.word)


def primary_flags(world: World) -> None:
    world.some(0.3)
    world.call("cuDevicePrimaryCtxSetFlags", dev=world.any_device(), flags=world.mostly(world.rng.choice((0, 4)), 64))


def context_limit(world: World) -> None:
    limit = world.mostly(world.rng.choice((0, 1, 2)), 99)
    roll = world.rng.random()
    if roll < 0.6:
        world.call("cuCtxGetLimit", limit=limit)
    elif roll < 0.75:
        world.call("cuCtxSetLimit", limit=world.mostly(0, 99), value=1024)
    elif roll < 0.85:
        world.call("cuCtxSetSharedMemConfig", config=world.mostly(1, 99))
    else:
        world.call("cuCtxSetCacheConfig", config=world.mostly(world.rng.choice((0, 1, 2, 3)), 99))


def context_name(world: World) -> None:
    """What a context is, current or not."""
    context = world.needed(Kind.CONTEXT)
    roll = world.rng.random()
    if roll < 0.4:
        world.call("cuCtxGetApiVersion", ctx=context)
    elif roll < 0.8:
        world.call("cuCtxGetId", ctx=context)
    elif roll < 0.9:
        world.call("cuCtxGetDevResource", hCtx=context, resource=bytes(_RESOURCE), type=1)
    else:
        world.call("cuCtxGetExecAffinity", pExecAffinity=bytes(64), type=0)


def context_events(world: World) -> None:
    name = world.rng.choice(("cuCtxRecordEvent", "cuCtxWaitEvent"))
    world.call(name, hCtx=world.needed(Kind.CONTEXT), hEvent=world.needed(Kind.EVENT))


def device_ask(world: World) -> None:
    device = world.any_device()
    name, values = world.rng.choice(_ABOUT_DEVICES)
    world.call(name, **{"ordinal" if name == "cuDeviceGet" else "dev": device}, **values)


def devices_ask(world: World) -> None:
    one, other = world.any_device(), world.any_device()
    if world.rng.random() < 0.6:
        world.call("cuDeviceCanAccessPeer", dev=one, peerDev=other)
    else:
        attribute = world.mostly(world.rng.choice((1, 2, 3, 4)), 99)
        world.call("cuDeviceGetP2PAttribute", attrib=attribute, srcDevice=one, dstDevice=other)


def process_ask(world: World) -> None:
    name = world.rng.choice(
        ("cuDeviceGetCount", "cuDriverGetVersion", "cuModuleGetLoadingMode", "cuInit", "error", "address")
    )
    if name == "error":
        status = world.mostly(world.rng.choice((0, 1, 201, 400, 700)), 12345)
        world.call(world.rng.choice(("cuGetErrorName", "cuGetErrorString")), error=status)
    elif name == "address":
        symbol = "cuMemAlloc" if world.rng.random() < 0.8 else "cuNoSuchFunction"
        world.call("cuGetProcAddress", symbol=symbol, cudaVersion=12000)
    elif name == "cuInit":
        world.call(name, Flags=world.mostly(0, 1))
    else:
        world.call(name)


def peer_access(world: World) -> None:
    context = world.needed(Kind.CONTEXT)
    if world.rng.random() < 0.6:
        world.call("cuCtxEnablePeerAccess", peerContext=context, Flags=world.mostly(0, 1))
    else:
        world.call("cuCtxDisablePeerAccess", peerContext=context)


def peer_copy(world: World) -> None:
    things = [thing for thing in world.living(Kind.MEMORY) if not thing.apart and thing.size >= 64]
    if len(things) < 2:
        raise Nothing
    one, other = world.rng.sample(things, 2)
    values: dict[str, Value] = {"dstDevice": one.word, "srcDevice": other.word, "ByteCount": min(one.size, other.size)}
    values.update(dstContext=one.context, srcContext=other.context)
    if world.rng.random() < 0.5:
        world.call("cuMemcpyPeer", **values)
    else:
        world.call("cuMemcpyPeerAsync", hStream=world.stream(), **values)


def green_context(world: World) -> None:
    """A context with some of a device's multiprocessors, and a stream in it."""
    world.some(0.3)
    multiprocessors, of_default_stream, non_blocking = 1, 1, 1
    device = world.rng.randrange(world.devices)
    if world.call("cuDeviceGetDevResource", device=device, resource=bytes(_RESOURCE), type=multiprocessors).status:
        return
    all_of_them = world.player.written("resource")[:_RESOURCE]
    split: dict[str, Value] = {"nbGroups": (1,), "input": all_of_them, "remainder": bytes(_RESOURCE)}
    if world.call("cuDevSmResourceSplitByCount", result=bytes(_RESOURCE), minCount=16, **split).status:
        return
    group = world.player.written("result")[:_RESOURCE]
    description = world.call("cuDevResourceGenerateDesc", resources=group, nbResources=1)
    if description.status:
        return
    values: dict[str, Value] = {"desc": description.outputs[0], "dev": device}
    made = world.make(Kind.GREEN_CONTEXT, "cuGreenCtxCreate", flags=world.mostly(of_default_stream, 0), **values)
    if made.status == 0:
        flags = world.mostly(non_blocking, 0)
        green = made.outputs[0]
        world.make(Thing(Kind.STREAM, parent=green), "cuGreenCtxStreamCreate", greenCtx=green, flags=flags)


def green_context_use(world: World) -> None:
    green = world.needed(Kind.GREEN_CONTEXT)
    roll = world.rng.random()
    if roll < 0.3:
        row = world.call("cuCtxFromGreenCtx", hCtx=green)
        if row.status == 0:
            world.met(row.outputs[0], world.device, "green", parent=green)
    elif roll < 0.5:
        name = world.rng.choice(("cuGreenCtxRecordEvent", "cuGreenCtxWaitEvent"))
        world.call(name, hCtx=green, hEvent=world.needed(Kind.EVENT))
    elif roll < 0.6:
        world.call("cuGreenCtxGetDevResource", hCtx=green, resource=bytes(_RESOURCE), type=1)
    elif roll < 0.7:
        world.call("cuGreenCtxGetId", greenCtx=green)
    elif roll < 0.9:
        world.make(Thing(Kind.STREAM, parent=green), "cuGreenCtxStreamCreate", greenCtx=green, flags=1)


_RESOURCE = 144
_ABOUT_DEVICES: tuple[tuple[str, dict[str, Value]], ...] = (
    ("cuDevicePrimaryCtxGetState", {}),
    ("cuDeviceGetDefaultMemPool", {}),
    ("cuDeviceGet", {}),
    ("cuDeviceComputeCapability", {}),
    ("cuDeviceTotalMem", {}),
    ("cuDeviceGetAttribute", {"attrib": 75}),
    ("cuDeviceGetAttribute", {"attrib": 99999}),
    ("cuDeviceGetName", {"name": bytes(256), "len": 256}),
    ("cuDeviceGetPCIBusId", {"pciBusId": bytes(64), "len": 64}),
    ("cuDeviceGetUuid", {"uuid": bytes(16)}),
    ("cuDeviceGetProperties", {"prop": bytes(64)}),
    ("cuDeviceGetExecAffinitySupport", {"type": 0}),
    ("cuDeviceGetTexture1DLinearMaxWidth", {"format": 0x20, "numChannels": 1}),
)

_OF_CURRENT = """
    cuCtxGetCurrent cuCtxGetDevice cuCtxSynchronize cuMemGetInfo cuCtxGetFlags cuCtxGetCacheConfig
    cuCtxGetSharedMemConfig cuCtxGetStreamPriorityRange cuCtxResetPersistingL2Cache
"""

STEPS: Steps = (
    (2, context_create),
    (2, context_destroy),
    (4, context_set),
    (2, context_push),
    (2, context_pop),
    (2, primary_retain),
    (1, primary_end),
    (1, primary_flags),
    (4, lambda world: world.call(world.any_of(_OF_CURRENT))),
    (1, context_limit),
    (2, context_name),
    (1, context_events),
    (2, device_ask),
    (1, devices_ask),
    (1, process_ask),
    (1, lambda world: world.call(world.any_of("cuProfilerStart cuProfilerStop"))),
    (1, peer_access),
    (1, peer_copy),
    (1, green_context),
    (1, green_context_use),
)
