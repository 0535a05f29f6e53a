"""Random programs: calls of the driver API on objects that the program made, mostly legal, some not.

What comes next is drawn from what the driver answered so far. Handles that are known to make the driver crash (a destroyed stream) are
used in the last steps of a program only, so that they are few, and hardly anything is built upon what they left behind.
"""

import random
from functools import partial
from importlib import import_module

from cuvet.conformance.play import Generator, Player
from cuvet.conformance.steps import last
from cuvet.conformance.world import Nothing, Steps, World

LEAST_STEPS, MOST_STEPS, MOST_AFTER_LAST = 20, 180, 5
MOST_PROGRAMS, LAST_SHARE = 40, 0.05
FAVOUR, MOST_ATTEMPTS = 8, 20
_NOUNS = """
    array context graph graph_node host_memory memory module pool stream stream_work virtual_memory
""".split()
_STEPS: dict[str, Steps] = {noun: import_module(f"cuvet.conformance.steps.{noun}").STEPS for noun in _NOUNS}
_FAVOURED = (
    "",
    "array memory",
    "context memory stream",
    "context module stream",
    "graph graph_node stream",
    "graph graph_node memory module stream_work",
    "host_memory memory",
    "memory pool stream",
    "module stream_work stream",
    "memory stream stream_work",
    "virtual_memory memory",
)
"""What a program is mostly about, so that its objects meet."""


def generate(devices: int, threads: int, rng: random.Random, player: Player) -> None:
    """Play programs, one after the other in this process, on that many devices and threads at most, until one ends it."""
    world = World(rng, player, devices, threads)
    for _ in range(MOST_PROGRAMS):
        player.begin()
        world.call("cuInit", Flags=0)
        for ordinal in range(devices):
            world.call("cuDeviceGet", ordinal=ordinal)
        begin(world)
        steps = _steps(rng.choice(_FAVOURED))
        for _ in range(rng.randint(LEAST_STEPS, MOST_STEPS)):
            step(world, steps)
            if world.over:
                return
        if rng.random() < LAST_SHARE:
            attempt(world, last.STEPS)
            for _ in range(rng.randint(0, MOST_AFTER_LAST)):
                step(world, steps)
            return
        last.tidy(world)


def _steps(favoured: str) -> Steps:
    return tuple(
        (weight * (FAVOUR if noun in favoured.split() else 1), chosen)
        for noun, steps in _STEPS.items()
        for weight, chosen in steps
    )


def step(world: World, steps: Steps) -> None:
    """Something, on some thread, mostly with a context."""
    world.thread = world.rng.randrange(world.threads) if world.rng.random() < 0.5 else world.thread
    if not world.context and world.rng.random() < 0.8:
        begin(world)
    attempt(world, steps)


def begin(world: World) -> None:
    """Make a primary context current."""
    device = world.rng.randrange(world.devices)
    row = world.call("cuDevicePrimaryCtxRetain", dev=device)
    if row.status:
        return
    word = row.outputs[0]
    world.met(word, device, "primary")
    if world.call("cuCtxSetCurrent", ctx=word).status == 0:
        world.stacks[world.thread] = [*world.stacks.get(world.thread, [])[:-1], word]


def attempt(world: World, steps: Steps) -> None:
    """One of these steps that the program has what it needs for."""
    for _ in range(MOST_ATTEMPTS):
        (chosen,) = world.rng.choices(steps, [weight for weight, _ in steps])
        try:
            chosen[1](world)
        except Nothing:
            continue
        return


def generator(devices: int, threads: int) -> Generator:
    return partial(generate, devices, threads)
