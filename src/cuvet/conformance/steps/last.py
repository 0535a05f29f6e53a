"""The steps that a program ends with: its context is lost, or the process dies."""

from cuvet.catalog import Kind
from cuvet.conformance.play import Value
from cuvet.conformance.world import ENDS, ONE_THREAD, Steps, Thing, World

TIDY_SHARE = 0.9
TRAP = b".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry trap_kernel(){ trap; ret; }\n\0"


def trap(world: World) -> None:
    module = world.call("cuModuleLoadData", image=TRAP)
    if module.status:
        return
    function = world.call("cuModuleGetFunction", hmod=module.outputs.get(0, 0), name="trap_kernel")
    if not function.status:
        world.call("cuLaunchKernel", f=function.outputs[0], **ONE_THREAD)
        world.call("cuCtxSynchronize")
        world.over = False


_NOT_ENDED = frozenset({Kind.CONTEXT, Kind.GRAPH_NODE})
USES = {
    Kind.STREAM: (("cuStreamSynchronize", "hStream"), ("cuStreamQuery", "hStream")),
    Kind.EVENT: (("cuEventSynchronize", "hEvent"), ("cuEventQuery", "hEvent")),
}


def use_dead(world: World) -> None:
    dead = [thing for thing in world.things if not thing.alive and _can_end(thing)]
    if dead:
        thing = world.rng.choice(dead)
        name, parameter = world.rng.choice((ENDS[thing.kind], *USES.get(thing.kind, ())))
        counted: dict[str, Value] = {"count": 1} if thing.kind is Kind.USER_OBJECT else {}
        world.call(name, **{parameter: thing.word}, **counted)


def tidy(world: World) -> None:
    """End most of what lives, in any order that the driver allows."""
    for stream in list(world.capturing):
        world.call("cuStreamEndCapture", hStream=stream)
        world.capturing.remove(stream)
    for thing in world.rng.sample(world.things, len(world.things)):
        kept = thing.apart and thing.kind is Kind.MEMORY
        if thing.alive and _can_end(thing) and not kept and world.rng.random() < TIDY_SHARE:
            end(world, thing)


def _can_end(thing: Thing) -> bool:
    return thing.kind in ENDS and thing.kind not in _NOT_ENDED


def end(world: World, thing: Thing) -> None:
    name, parameter = ENDS[thing.kind]
    if thing.variant == "registered":
        name = "cuMemHostUnregister"
    counted: dict[str, Value] = {"count": thing.size} if thing.kind is Kind.USER_OBJECT else {}
    if world.call(name, **{parameter: thing.word}, **counted).status == 0:
        world.kill(thing.kind, thing.word)


STEPS: Steps = ((1, trap), (5, use_dead))
