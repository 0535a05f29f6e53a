"""The numbers and fixed structures of FORMAT.md, in its order."""

from __future__ import annotations

import struct
from enum import IntEnum, IntFlag

import numpy as np

MAGIC = b"CUVETREC"
VERSION = 1
HEADER_BYTES = 4096
CHUNK_BYTES = 65536
CHUNK_HEADER_BYTES = 64
CHUNK_MAGIC = 0x4B4E4843
PENDING = 0xFFFFFFFF
"""Status of a call that has not returned."""
NOT_ASKED = 0xFFFFFFFFFFFFFFFF
"""Current context of a call for which the shim did not ask the driver."""


class HeaderFlag(IntFlag):
    EMULATED = 1
    FULL = 2


class End(IntEnum):
    """How the process was seen to end."""

    NONE = 0
    EXITED = 1
    REPLACED = 2


class ChunkKind(IntEnum):
    RECORDS = 1
    FLIGHT = 2


class RecordType(IntEnum):
    CALL = 1
    STACK = 2
    PYTHON_CODE = 3
    MODULE = 4
    THREAD = 5
    MAPS = 6
    FAULT = 7
    FORK = 8
    ENTRY_POINTS = 9
    NOTE = 10
    IMAGE = 11
    OVERLAP = 12
    LAUNCH_PLACE = 13
    LAUNCHES = 14
    HANDED_OUT = 15


class CallFlag(IntFlag):
    LIFECYCLE = 1
    SUSPECT = 2
    FAILED = 4
    ORDER = 8
    STREAM_ORDERED = 16
    PER_THREAD = 32


class NoteCode(IntEnum):
    BYPASSED = 1
    LIMIT = 2
    INHERITED_CONTEXT = 3


MOST_GPUS = 64
GPU = np.dtype([("memory", "<u8"), ("capability", "<u4"), ("reserved", "<u4")])
HEADER = np.dtype(
    {
        "names": [
            "magic", "version", "header_bytes", "chunk_bytes", "pid", "parent", "flags", "clock", "newest_sample",
            "chunks", "end", "catalog", "calls", "dropped", "gpus", "driver_version", "process_start", "stop_error", "stopped", "driver",
            "executable", "gpu",
        ],
        "formats": [
            "S8", "<u4", "<u4", "<u4", "<u4", "<u4", "<u4", ("<u8", (3, 3)), "<u8",
            "<u8", "<u4", "<u4", "<u8", "<u8", "<u4", "<i4", "<u8", "<u4", "<u8", "S1024",
            "S1024", (GPU, MOST_GPUS),
        ],
        "offsets": [0, 8, 12, 16, 20, 24, 28, 32, 104, 112, 120, 124, 128, 136, 144, 148, 152, 160, 168, 256, 1280, 2304],
        "itemsize": HEADER_BYTES,
    }
)  # fmt: skip

CHUNK_HEADER = struct.Struct("<IIII48x")
RECORD_HEADER = struct.Struct("<IHH")

CALL = np.dtype(
    [
        ("size", "<u4"), ("type", "<u2"), ("flags", "<u2"), ("entry_point", "<u4"), ("status", "<u4"),
        ("entered", "<u8"), ("returned", "<u8"), ("thread", "<u4"), ("stack", "<u4"), ("number", "<u8"),
        ("context", "<u8"), ("arguments", "u1"), ("objects", "u1"), ("outputs", "u1"), ("pointers", "u1"),
        ("input_bytes", "<u4"),
    ]
)  # fmt: skip
"""The part of a CALL record that every call has."""
CALL_FIXED = struct.Struct("<IHHIIQQIIQQBBBBI")
CALL_OBJECT = struct.Struct("<BBHIQQ")
CALL_OUTPUT = struct.Struct("<BBHIQ")
CALL_INPUT = struct.Struct("<HHI")
OBJECT_ALIVE = 1
OBJECT_KNOWN = 2

FLIGHT_SLOT = np.dtype(
    [("entry_point", "<u4"), ("status", "<u4"), ("entered", "<u8"), ("number", "<u8"), ("args", "<u8", 5)]
)

FLIGHT_SLOTS = 256
LAUNCH_WORDS = 15
LAUNCH = np.dtype([("place", "<u4"), ("number", "<u4"), ("words", "<u8", LAUNCH_WORDS)])
RING = np.dtype(
    [("slots", FLIGHT_SLOT, FLIGHT_SLOTS), ("launches", LAUNCH, FLIGHT_SLOTS), ("on_host", "<u2", FLIGHT_SLOTS)]
)

STACK = struct.Struct("<IHH")
PYTHON_FRAME = struct.Struct("<II")
PYTHON_CODE = struct.Struct("<IHH")
MODULE = struct.Struct("<QQQII")
THREAD = struct.Struct("<II")
MAPS = struct.Struct("<QII")
FAULT = struct.Struct("<IIiIQQQ")
FORK = struct.Struct("<IIQII")
ENTRY_POINTS = struct.Struct("<II")
NOTE = struct.Struct("<II")
IMAGE = struct.Struct("<QIIq")
OVERLAP = struct.Struct("<QIIII")
LAUNCH_PLACE = struct.Struct("<IIQQI")
LAUNCHES = struct.Struct("<QII")
HANDED_OUT = struct.Struct("<QII")
