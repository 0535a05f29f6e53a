"""The measured programs, as driver calls: the model must allow what an H200 did (driver 580.159, CUDA 13.0).

Each function is named after its row in ``cuvet/knowledge/facts``. ``cu(600).cuEventQuery(e)`` makes a call that returned 600
there; CRASH is a call in which the process died.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cuvet
from cuvet.model import Model
from cuvet.rules.rule import CRASH

from .driving import Drive

FACTS = Path(cuvet.__file__).parent / "knowledge" / "facts" / "h200-driver580-cuda13.jsonl"
PROGRAMS: dict[str, Callable[[Hardware], None]] = {}
NON_BLOCKING = 1
PTX = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(){ ret; }\n\0"


class Hardware(Drive):
    """Answers as the H200 did, and notes each answer that the model did not allow."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.surprises: list[str] = []

    def __call__(self, status: int) -> Any:
        return _Answer(self, status)


class _Answer:
    def __init__(self, hardware: Hardware, status: int) -> None:
        self.hardware = hardware
        self.answer = status

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def make(*words: Any, **how: Any) -> Any:
            end = {"died": True} if self.answer == CRASH else {"status": self.answer}
            value = getattr(self.hardware, name)(*words, **how, **end)
            predicted = self.hardware.prediction
            assert predicted is not None
            if self.answer not in predicted.statuses and not predicted.undefined:
                self.hardware.surprises.append(f"{name}: {self.answer}, predicted {predicted.statuses}")
            return value

        return make


def fact(program: Callable[[Hardware], None]) -> Callable[[Hardware], None]:
    PROGRAMS[program.__name__] = program
    return program


@fact
def capture_invalid_sync(cu: Hardware) -> None:
    cu.setup()
    stream = cu(0).cuStreamCreate(0)
    cu(0).cuStreamBeginCapture(stream, 0)
    cu(900).cuStreamSynchronize(stream)
    cu(900).cuMemAlloc(16)
    cu(901).cuStreamEndCapture(stream)


@fact
def ctx_destroy_then_use(cu: Hardware) -> None:
    cu(0).cuInit(0)
    context = cu(0).cuCtxCreate(0, 0, 0)
    memory = cu(0).cuMemAlloc(1024)
    stream = cu(0).cuStreamCreate(0)
    cu(0).cuCtxDestroy(context)
    cu(1).cuMemFree(memory)
    cu(709).cuStreamSynchronize(stream)
    cu(201).cuMemAlloc(1024)


@fact
def ctx_destroy_twice(cu: Hardware) -> None:
    cu(0).cuInit(0)
    context = cu(0).cuCtxCreate(0, 0, 0)
    cu(0).cuCtxDestroy(context)
    cu(709).cuCtxDestroy(context)
    cu(0).cuCtxSetCurrent(context)


@fact
def event_destroy_null(cu: Hardware) -> None:
    cu.setup()
    cu(400).cuEventDestroy(0)
    cu(400).cuStreamDestroy(0)
    cu(0).cuMemFree(0)
    cu(1).cuGraphDestroy(0)
    cu(1).cuGraphExecDestroy(0)


@fact
def event_elapsed_notready(cu: Hardware) -> None:
    cu.setup()
    a, b = cu(0).cuEventCreate(0), cu(0).cuEventCreate(0)
    cu(0).cuEventRecord(a, 0)
    cu(0).cuEventRecord(b, 0)
    cu(600).cuEventElapsedTime(a, b)
    cu(600).cuEventQuery(b)
    cu(0).cuCtxSynchronize()
    cu(0).cuEventQuery(b)


@fact
def event_elapsed_unrecorded(cu: Hardware) -> None:
    cu.setup()
    a, b = cu(0).cuEventCreate(0), cu(0).cuEventCreate(0)
    cu(400).cuEventElapsedTime(a, b)
    cu(0).cuEventRecord(a, 0)
    cu(400).cuEventElapsedTime(a, b)


@fact
def event_null_record(cu: Hardware) -> None:
    cu.setup()
    cu(400).cuEventRecord(0, 0)
    cu(400).cuEventSynchronize(0)
    cu(400).cuEventQuery(0)


@fact
def event_query_after_destroy(cu: Hardware) -> None:
    cu.setup()
    event = cu(0).cuEventCreate(0)
    cu(0).cuEventDestroy(event)
    cu(CRASH).cuEventQuery(event)


@fact
def event_record_after_destroy(cu: Hardware) -> None:
    cu.setup()
    event = cu(0).cuEventCreate(0)
    cu(0).cuEventDestroy(event)
    cu(CRASH).cuEventRecord(event, 0)


@fact
def event_use_after_reset(cu: Hardware) -> None:
    cu.setup()
    event = cu(0).cuEventCreate(0)
    cu(0).cuDevicePrimaryCtxReset(0)
    cu(CRASH).cuEventDestroy(event)


@fact
def free_host_ptr(cu: Hardware) -> None:
    cu.setup()
    cu(1).cuMemFree(0x555500001000)


@fact
def free_interior(cu: Hardware) -> None:
    cu.setup()
    memory = cu(0).cuMemAlloc(1 << 20)
    cu(1).cuMemFree(memory + 64)


@fact
def free_twice(cu: Hardware) -> None:
    cu.setup()
    memory = cu(0).cuMemAlloc(1024)
    cu(0).cuMemFree(memory)
    cu(1).cuMemFree(memory)


@fact
def launch_on_destroyed_stream(cu: Hardware) -> None:
    cu.setup()
    function = cu(0).cuModuleGetFunction(cu(0).cuModuleLoadData(PTX), b"k\0")
    stream = cu(0).cuStreamCreate(0)
    cu(0).cuStreamDestroy(stream)
    cu(CRASH).cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, 0, 0)


@fact
def memcpy_past_end(cu: Hardware) -> None:
    cu.setup()
    memory = cu(0).cuMemAlloc(4096)
    cu(1).cuMemcpyHtoD(memory, 0x555500001000, 4 << 20)
    cu(1).cuMemcpyHtoD(memory, 0x555500001000, 8192)


@fact
def memcpyasync_on_destroyed_stream(cu: Hardware) -> None:
    cu.setup()
    memory = cu(0).cuMemAlloc(4096)
    stream = cu(0).cuStreamCreate(0)
    cu(0).cuStreamDestroy(stream)
    cu(CRASH).cuMemcpyHtoDAsync(memory, 0x555500001000, 4096, stream)


@fact
def memset_freed(cu: Hardware) -> None:
    cu.setup()
    memory = cu(0).cuMemAlloc(4096)
    cu(0).cuMemFree(memory)
    cu(1).cuMemsetD8(memory, 0, 4096)
    cu(0).cuCtxSynchronize()


@fact
def peek_stale_error(cu: Hardware) -> None:
    cu.setup()
    cu(2).cuMemAlloc(1 << 50)


@fact
def sticky_error(cu: Hardware) -> None:
    cu.setup()
    cu.cuCtxSynchronize(status=700)
    cu(700).cuStreamCreate(0)
    cu(0).cuDevicePrimaryCtxReset(0)
    cu(700).cuDevicePrimaryCtxRetain(0)


@fact
def oob_write(cu: Hardware) -> None:
    cu.setup()
    cu(0).cuMemAlloc(4096)
    cu.cuCtxSynchronize(status=700)
    cu(700).cuMemAlloc(16)


@fact
def stream_destroy_twice(cu: Hardware) -> None:
    cu.setup()
    stream = cu(0).cuStreamCreate(0)
    cu(0).cuStreamDestroy(stream)
    cu(CRASH).cuStreamDestroy(stream)


@fact
def stream_garbage_handle(cu: Hardware) -> None:
    cu.setup()
    cu(CRASH).cuStreamSynchronize(0xDEADBEEF)


@fact
def stream_uninit_heap_handle(cu: Hardware) -> None:
    cu.setup()
    cu(400).cuStreamSynchronize(0x555500001000)


@fact
def stream_other_ctx(cu: Hardware) -> None:
    cu(0).cuInit(0)
    cu(0).cuCtxCreate(0, 0, 0)
    stream = cu(0).cuStreamCreate(0)
    event_a = cu(0).cuEventCreate(0)
    memory = cu(0).cuMemAlloc(4096)
    cu(0).cuCtxCreate(0, 0, 0)
    event = cu(0).cuEventCreate(0)
    cu(400).cuEventRecord(event, stream)
    cu(400).cuEventRecord(event_a, 0)
    cu(0).cuStreamWaitEvent(stream, event, 0)
    cu(0).cuStreamSynchronize(stream)
    cu(0).cuMemsetD8Async(memory, 0, 4096, stream)
    cu(0).cuMemsetD8Async(memory, 0, 4096, 0)
    cu(0).cuMemFree(memory)
    cu(0).cuStreamDestroy(stream)


@fact
def stream_query_after_destroy(cu: Hardware) -> None:
    cu.setup()
    stream = cu(0).cuStreamCreate(0)
    cu(0).cuStreamDestroy(stream)
    cu(CRASH).cuStreamQuery(stream)


@fact
def stream_sync_after_destroy(cu: Hardware) -> None:
    cu.setup()
    stream = cu(0).cuStreamCreate(0)
    cu(0).cuStreamSynchronize(stream)
    cu(0).cuStreamDestroy(stream)
    cu(CRASH).cuStreamSynchronize(stream)


@fact
def stream_use_after_reset(cu: Hardware) -> None:
    cu.setup()
    stream, event = cu(0).cuStreamCreate(0), cu(0).cuEventCreate(0)
    memory = cu(0).cuMemAlloc(64)
    cu(0).cuDevicePrimaryCtxReset(0)
    cu(0).cuCtxSetCurrent(cu(0).cuDevicePrimaryCtxRetain(0))  # as the runtime does
    cu(1).cuMemFree(memory)
    cu(201).cuEventQuery(event)
    cu(709).cuStreamSynchronize(stream)


@fact
def texobj_destroy_twice(cu: Hardware) -> None:
    cu.setup()
    array = cu(0).cuArray3DCreate(b"\1" + b"\0" * 39)
    described = b"\0" * 8 + array.to_bytes(8, "little") + b"\0" * 128
    texture = cu(0).cuTexObjectCreate(described, b"\0" * 104, 0)
    cu(0).cuTexObjectDestroy(texture)
    cu(0).cuTexObjectDestroy(texture)


@fact
def free_of_mallocasync(cu: Hardware) -> None:
    cu.setup()
    memory = cu(0).cuMemAllocAsync(1 << 20, 0)
    cu(0).cuMemFree(memory)
    cu(1).cuMemFree(memory)


@fact
def freeasync_destroyed_stream(cu: Hardware) -> None:
    cu.setup()
    stream = cu(0).cuStreamCreate(0)
    memory = cu(0).cuMemAllocAsync(1 << 20, stream)
    cu(0).cuStreamDestroy(stream)
    cu(CRASH).cuMemFreeAsync(memory, stream)


@fact
def freeasync_reset(cu: Hardware) -> None:
    cu.setup()
    memory = cu(0).cuMemAllocAsync(64 << 20, 0)
    cu(0).cuMemFreeAsync(memory, 0)
    cu(0).cuDevicePrimaryCtxReset(0)
    cu(0).cuDevicePrimaryCtxRetain(0)
    cu(0).cuMemFree(0)
    cu(0).cuMemAlloc(1024)


@fact
def freeasync_stream_reset_destroy(cu: Hardware) -> None:
    cu.setup()
    stream = cu(0).cuStreamCreate(0)
    memory = cu(0).cuMemAllocAsync(64 << 20, stream)
    cu(0).cuMemFreeAsync(memory, stream)
    cu(0).cuDevicePrimaryCtxReset(0)
    cu(201).cuStreamDestroy(stream)


@fact
def freeasync_twice(cu: Hardware) -> None:
    cu.setup()
    memory = cu(0).cuMemAllocAsync(1 << 20, 0)
    cu(0).cuMemFreeAsync(memory, 0)
    cu(1).cuMemFreeAsync(memory, 0)
    cu(0).cuCtxSynchronize()
    cu(1).cuMemFreeAsync(memory, 0)


@fact
def mallocasync_other_stream_nosync(cu: Hardware) -> None:
    cu.setup()
    function = cu(0).cuModuleGetFunction(cu(0).cuModuleLoadData(PTX), b"k\0")
    a, b = cu(0).cuStreamCreate(NON_BLOCKING), cu(0).cuStreamCreate(NON_BLOCKING)
    memory = cu(0).cuMemAllocAsync(64 << 20, a)
    cu(0).cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, b, 0, 0, pointers=(memory,))
    cu(0).cuStreamSynchronize(b)
    cu(0).cuCtxSynchronize()


@fact
def pool_destroy_outstanding(cu: Hardware) -> None:
    cu.setup()
    pool = cu(0).cuMemPoolCreate(b"\1\0\0\0\0\0\0\0\1" + b"\0" * 79)
    memory = cu(0).cuMemAllocFromPoolAsync(1 << 20, pool, 0)
    cu(0).cuMemPoolDestroy(pool)
    cu(0).cuMemFreeAsync(memory, 0)
    cu(0).cuCtxSynchronize()
    cu(1).cuMemPoolDestroy(pool)


@fact
def seed_example2_destroy_after_reset(cu: Hardware) -> None:
    cu.setup()
    stream = cu(0).cuStreamCreate(0)
    memory = cu(0).cuMemAlloc(4 << 20)
    cu(0).cuMemFreeAsync(memory, stream)
    cu(0).cuStreamSynchronize(stream)
    cu(0).cuDevicePrimaryCtxReset(0)
    cu(400).cuStreamDestroy(stream)


@fact
def use_after_freeasync(cu: Hardware) -> None:
    cu.setup()
    function = cu(0).cuModuleGetFunction(cu(0).cuModuleLoadData(PTX), b"k\0")
    memory = cu(0).cuMemAllocAsync(64 << 20, 0)
    cu(0).cuMemFreeAsync(memory, 0)
    cu(0).cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0, pointers=(memory,))
    cu(0).cuCtxSynchronize()


@fact
def async_copy_then_kernel_same_stream(cu: Hardware) -> None:
    cu.setup()
    function = cu(0).cuModuleGetFunction(cu(0).cuModuleLoadData(PTX), b"k\0")
    host = cu(0).cuMemHostAlloc(64 << 20, 0)
    memory = cu(0).cuMemAlloc(64 << 20)
    cu(0).cuMemcpyHtoDAsync(memory, host, 64 << 20, 0)
    cu(0).cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0, pointers=(memory,))
    cu(0).cuCtxSynchronize()


@fact
def module_garbage(cu: Hardware) -> None:
    cu.setup()
    cu(200).cuModuleLoadData(b"A" * 4095 + b"\0")
    cu(200).cuModuleLoadData(b"\0" * 64)
    cu(200).cuModuleLoadData(b"hello\0")
    cu(218).cuModuleLoadData(PTX.replace(b"ret", b"bogus"))
    cu(222).cuModuleLoadData(PTX.replace(b"8.0", b"99.0"))
    module = cu(0).cuModuleLoadData(PTX)
    cu(0).cuModuleGetFunction(module, b"k\0")
    cu(0).cuModuleUnload(module)
    cu(400).cuModuleUnload(module)


@fact
def use_function_after_unload(cu: Hardware) -> None:
    cu.setup()
    module = cu(0).cuModuleLoadData(PTX)
    function = cu(0).cuModuleGetFunction(module, b"k\0")
    cu(0).cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
    cu(0).cuModuleUnload(module)
    cu(400).cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
    cu(0).cuCtxSynchronize()


@fact
def register_badflags(cu: Hardware) -> None:
    cu.setup()
    cu(1).cuMemHostRegister(0x555500001000, 4096, 0xFF0)
    cu(0).cuMemHostRegister(0x555500001000, 4096, 8)


@fact
def register_freed(cu: Hardware) -> None:
    cu.setup()
    cu(0).cuMemHostRegister(0x7F5A770B4000, 1 << 20, 0)


@fact
def register_malloc(cu: Hardware) -> None:
    cu.setup()
    cu(0).cuMemHostRegister(0x555500001010, 4096, 0)
    cu(0).cuMemHostUnregister(0x555500001010)


@fact
def register_mallochost(cu: Hardware) -> None:
    cu.setup()
    memory = cu(0).cuMemHostAlloc(4096, 0)
    cu(1).cuMemHostRegister(memory, 4096, 1)
    cu(1).cuMemHostUnregister(memory)
    cu(0).cuMemFreeHost(memory)


@fact
def register_managed(cu: Hardware) -> None:
    cu.setup()
    memory = cu(0).cuMemAllocManaged(4096, 1)
    cu(1).cuMemHostRegister(memory, 4096, 0)


@fact
def register_null(cu: Hardware) -> None:
    cu.setup()
    cu(1).cuMemHostRegister(0, 4096, 0)


@fact
def register_twice(cu: Hardware) -> None:
    cu.setup()
    cu(0).cuMemHostRegister(0x555500001010, 4096, 0)
    cu(712).cuMemHostRegister(0x555500001010, 4096, 0)
    cu(0).cuMemHostUnregister(0x555500001010)
    cu(713).cuMemHostUnregister(0x555500001010)


@fact
def register_unaligned(cu: Hardware) -> None:
    cu.setup()
    cu(0).cuMemHostRegister(0x555500001003, 1001, 0)
    cu(0).cuMemHostUnregister(0x555500001003)


@fact
def unregister_interior(cu: Hardware) -> None:
    cu.setup()
    cu(0).cuMemHostRegister(0x555500001000, 1 << 20, 0)
    cu(1).cuMemHostUnregister(0x555500001040)


@fact
def unregister_mallochost(cu: Hardware) -> None:
    cu.setup()
    memory = cu(0).cuMemHostAlloc(4096, 0)
    cu(1).cuMemHostUnregister(memory)
    cu(0).cuMemFreeHost(memory)


@fact
def unregister_never(cu: Hardware) -> None:
    cu.setup()
    cu(713).cuMemHostUnregister(0x555500001000)
    cu(1).cuMemHostUnregister(0)


def test_the_facts_are_those_that_were_measured() -> None:
    measured = {json.loads(line)["id"] for line in FACTS.read_text().splitlines()}
    assert set(PROGRAMS) <= measured


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_allows_what_the_hardware_did(name: str) -> None:
    hardware = Hardware(Model(complete=True))
    PROGRAMS[name](hardware)
    assert hardware.surprises == []
