"""Plays three sessions: one that crashes in a call, one that never returns from one, and one that ends. Prints each as JSON."""

from __future__ import annotations

import ctypes
import random

import msgspec

from cuvet.conformance import play
from cuvet.conformance.play import Player, Step

CRASHES, HANGS, ENDS = range(3)


def generate(rng: random.Random, player: Player) -> None:
    drawn = rng.random()
    (seed,) = [seed for seed in range(3) if random.Random(seed).random() == drawn]
    player.begin()
    player.run(Step("cuInit", {"Flags": 0}))
    context = player.run(Step("cuDevicePrimaryCtxRetain", {"dev": 0})).outputs[0]
    player.run(Step("cuCtxSetCurrent", {"ctx": context}))
    stream = player.run(Step("cuStreamCreate", {"Flags": 0})).outputs[0]
    if seed == HANGS:
        pause = ctypes.cast(ctypes.CDLL(None).pause, ctypes.c_void_p).value or 0
        player.run(Step("cuLaunchHostFunc", {"hStream": stream, "fn": pause}))
        player.run(Step("cuStreamSynchronize", {"hStream": stream}))
    player.run(Step("cuStreamDestroy", {"hStream": stream}))
    player.begin()
    if seed == CRASHES:
        player.run(Step("cuStreamDestroy", {"hStream": stream}))
    player.run(Step("cuCtxSetCurrent", {"ctx": context}, thread=1))


if __name__ == "__main__":
    play.TIMEOUT_S = 1.5
    for session in play.record(generate, range(3), jobs=3):
        print(msgspec.json.encode(session).decode(), flush=True)
