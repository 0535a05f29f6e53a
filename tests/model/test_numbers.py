"""The numbers in the model's code are those of the header that have that name."""

from __future__ import annotations

import pytest

from cuvet.catalog import driver
from cuvet.catalog.results import INVALID_VALUE
from cuvet.conformance.world import struct
from cuvet.model import Model, nodes, objects
from cuvet.model.ledger import bytes_of_array
from cuvet.model.statuses import STICKY
from cuvet.model.table import GENERATIONS, ObjectTable
from cuvet.model.transitions import array, capture, event, graph, module, pool

from .driving import drive

NUMBERS = driver().enumerations


def named(enumeration: str, prefix: str, names: str) -> list[int]:
    return [NUMBERS[enumeration][f"{prefix}_{name}"] for name in names.split()]


def test_errors_after_which_all_work_fails() -> None:
    """CUresult: "any further CUDA work will return the same error"; of CUDA_ERROR_ASSERT, that "the context cannot be used anymore"."""
    names = """
        CONTAINED ILLEGAL_ADDRESS LAUNCH_TIMEOUT ASSERT HARDWARE_STACK_ERROR ILLEGAL_INSTRUCTION MISALIGNED_ADDRESS INVALID_ADDRESS_SPACE
        INVALID_PC LAUNCH_FAILED TENSOR_MEMORY_LEAK EXTERNAL_DEVICE
        """
    assert set(named("CUresult", "CUDA_ERROR", names)) == STICKY


def test_errors_of_captures() -> None:
    here = (
        *(capture.UNSUPPORTED, capture.INVALIDATED, capture.MERGE, capture.UNMATCHED, capture.UNJOINED),
        *(capture.ISOLATION, capture.IMPLICIT, capture.WRONG_THREAD),
    )
    names = "UNSUPPORTED INVALIDATED MERGE UNMATCHED UNJOINED ISOLATION IMPLICIT WRONG_THREAD"
    assert list(here) == named("CUresult", "CUDA_ERROR_STREAM_CAPTURE", names)
    assert named("CUresult", "CUDA_ERROR", "CAPTURED_EVENT") == [capture.CAPTURED_EVENT]


def test_types_of_nodes() -> None:
    names = "KERNEL MEMCPY MEMSET HOST GRAPH EMPTY WAIT_EVENT EVENT_RECORD EXT_SEMAS_SIGNAL EXT_SEMAS_WAIT MEM_ALLOC MEM_FREE BATCH_MEM_OP"
    prefix = "CU_GRAPH_NODE_TYPE"
    assert list(nodes._TYPES.values()) == named("CUgraphNodeType", prefix, names)
    assert list(graph._EVENT_NODES) == named("CUgraphNodeType", prefix, "WAIT_EVENT EVENT_RECORD")
    here = [nodes.MEM_ALLOC, nodes.MEM_FREE, nodes.CONDITIONAL]
    assert here == named("CUgraphNodeType", prefix, "MEM_ALLOC MEM_FREE CONDITIONAL")


def test_flags_and_attributes() -> None:
    assert named("CUevent_flags", "CU_EVENT", "DISABLE_TIMING INTERPROCESS") == [
        objects.DISABLE_TIMING,
        objects.INTERPROCESS,
    ]
    assert named("CUevent_record_flags", "CU_EVENT_RECORD", "EXTERNAL") == [event.EXTERNAL]
    assert named("CUevent_wait_flags", "CU_EVENT_WAIT", "EXTERNAL") == [event.EXTERNAL]
    assert named("CUstreamCaptureMode", "CU_STREAM_CAPTURE_MODE", "RELAXED") == [capture.RELAXED]
    assert named("CUmemLocationType", "CU_MEM_LOCATION_TYPE", "DEVICE") == [pool._DEVICE]
    assert named("CUmemAccess_flags", "CU_MEM_ACCESS_FLAGS", "PROT_NONE") == [pool._NO_ACCESS]
    attribute = named("CUfunction_attribute", "CU_FUNC_ATTRIBUTE", "MAX_DYNAMIC_SHARED_SIZE_BYTES")
    assert attribute == [module._DYNAMIC_SHARED]


PLAIN = """
    UNSIGNED_INT8 UNSIGNED_INT16 UNSIGNED_INT32 SIGNED_INT8 SIGNED_INT16 SIGNED_INT32 HALF FLOAT
    """


def test_arrays_of_plain_formats_have_no_planes() -> None:
    assert set(named("CUarray_format", "CU_AD_FORMAT", PLAIN)) == array._WITHOUT_PLANES
    cu = drive().setup()
    for format, status in ((NUMBERS["CUarray_format"]["CU_AD_FORMAT_NV12"], 0), (0x20, INVALID_VALUE)):
        described = struct("CUDA_ARRAY3D_DESCRIPTOR", Width=64, Height=64, Format=format, NumChannels=1)
        cu.cuArrayGetPlane(cu.cuArray3DCreate(described), 0)
        assert cu.status == status
    cu.cuArrayGetPlane(0xBEEF00, 0)
    assert cu.prediction is not None and cu.prediction.statuses == (0, INVALID_VALUE)


@pytest.mark.parametrize(("name", "size"), list(zip(PLAIN.split(), (1, 2, 4, 1, 2, 4, 2, 4), strict=True)))
def test_bytes_of_an_element(name: str, size: int) -> None:
    (format,) = named("CUarray_format", "CU_AD_FORMAT", name)
    cu = drive().setup()
    cu.cuArrayCreate(struct("CUDA_ARRAY_DESCRIPTOR", Width=8, Height=2, Format=format, NumChannels=2))
    assert cu.call is not None
    assert bytes_of_array(cu.call) == 8 * 2 * 2 * size


@pytest.mark.parametrize("name", ["CUDA_ARRAY3D_SPARSE", "CUDA_ARRAY3D_DEFERRED_MAPPING"])
def test_an_array_that_is_not_backed_holds_no_memory(name: str) -> None:
    """0x40 and 0x80 (cuda.h)."""
    flags = {"CUDA_ARRAY3D_SPARSE": 0x40, "CUDA_ARRAY3D_DEFERRED_MAPPING": 0x80}[name]
    cu = drive().setup()
    for given, size in ((flags, 0), (flags | 1, 0), (1, 64)):
        described = struct("CUDA_ARRAY3D_DESCRIPTOR", Width=64, Format=1, NumChannels=1, Flags=given)
        cu.cuArray3DCreate(described)
        assert cu.call is not None
        assert bytes_of_array(cu.call) == size


def test_no_gpu_has_more_memory_than_a_terabyte() -> None:
    cu = drive(Model(complete=True)).setup()
    for size, status in ((1 << 40, 0), ((1 << 40) + 1, 2)):
        cu.cuMemAlloc(size)
        assert cu.status == status


def test_four_former_objects_of_a_handle_are_remembered() -> None:
    table = ObjectTable()
    kind = objects.Kind.STREAM
    made = [table.add(objects.Stream, kind, 16, 0) for _ in range(6)]
    assert GENERATIONS == 4
    assert [table.find(kind, 16, generation) for generation in range(1, 7)] == [None, *made[1:]]
    assert list(table.all(kind, alive=False)) == made[1:]
