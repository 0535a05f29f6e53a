"""The numbers and fixed structures of FORMAT.md, in its order. ``tools/generate_native.py`` writes them for the shim."""

import re
import struct
from enum import IntEnum, IntFlag

import numpy as np

MAGIC = b"CUVETREC"
VERSION = 4
SHORTENED = 5
"""Version of a recording of which calls were left out: the rest of what they were among is in its ``.kept``."""
WERE_SHORTENED = (3, SHORTENED)
VERSIONS = (1, 2, 3, VERSION, SHORTENED)
"""Those that are read: the first had no CALL_AGAIN, 2 and 3 no CALL_LIKE."""
HEADER_BYTES = 4096
CHUNK_BYTES = 65536
CHUNK_HEADER_BYTES = 64
CHUNK_MAGIC = 0x4B4E4843
PENDING = 0xFFFFFFFF
"""Status of a call that has not returned."""
AWAITED = 0xFFFFFFFE
"""Status in a flight recorder: it succeeded, and so did its work, for which the shim has waited."""
LAST_ERA = 0xFFFF
"""Of a stack or file: this one or a later one."""
NOT_ASKED = 0xFFFFFFFFFFFFFFFF
"""Current context of a call for which the shim did not ask the driver."""


class HeaderFlag(IntFlag):
    EMULATED = 1
    FULL = 2
    ACCESSES = 4
    GUARDED = 8
    NARROWED = 16


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
    CALL_AGAIN = 16
    CODE = 17
    HOST_ACCESS = 18
    FREED_CHUNKS = 19
    LEFT_OUT_OBJECTS = 20
    LEFT_OUT_CALLS = 21
    CALL_LIKE = 22
    EXAMPLE = 23
    SITE = 24
    EXIT = 25


class CallFlag(IntFlag):
    LIFECYCLE = 1
    SUSPECT = 2
    FAILED = 4
    ORDER = 8
    STREAM_ORDERED = 16
    PER_THREAD = 32
    WORK = 64
    REFUSED = 128
    TRAPPED = 256
    ENDED_PROCESS = 512
    AWAITED = 1024
    EXAMPLE = 2048
    INJECTED = 4096


class NoteCode(IntEnum):
    BYPASSED = 1
    LIMIT = 2
    INHERITED_CONTEXT = 3
    UNGUARDED = 4
    NOT_AWAITED = 5
    EMULATED = 6


MOST_GPUS = 64
GPU = np.dtype([("memory", "<u8"), ("capability", "<u4"), ("pageable", "<u4")])
NOT_PAGEABLE = 1
"""Of a GPU: it cannot access memory of the host that CUDA does not know. 2: it can; 0: unknown."""
HEADER = np.dtype(
    {
        "names": [
            "magic", "version", "header_bytes", "chunk_bytes", "pid", "parent", "flags", "clock", "newest_sample",
            "chunks", "end", "catalog", "calls", "dropped", "gpus", "driver_version", "process_start", "stop_error", "stopped", "freed",
            "driver", "executable", "gpu",
        ],
        "formats": [
            "S8", "<u4", "<u4", "<u4", "<u4", "<u4", "<u4", ("<u8", (3, 3)), "<u8",
            "<u8", "<u4", "<u4", "<u8", "<u8", "<u4", "<i4", "<u8", "<u4", "<u8", "<u8",
            "S1024", "S1024", (GPU, MOST_GPUS),
        ],
        "offsets": [0, 8, 12, 16, 20, 24, 28, 32, 104, 112, 120, 124, 128, 136, 144, 148, 152, 160, 168, 176, 256, 1280, 2304],
        "itemsize": HEADER_BYTES,
    }
)  # fmt: skip

FLIGHT_SLOTS = 256
LAUNCH_WORDS = 13
LAUNCH_SHAPED = 1
"""Of LAUNCHES: a launch ends with its grid, its block and what could not be read. Before, these were two more words of its arguments."""
OLD_LAUNCH_WORDS = 15
OBJECT_ALIVE = 1
OBJECT_KNOWN = 2
OBJECT_KEPT = 4
OBJECT_RECORDED = 8
AGAIN_SUBJECT = 0x80
"""In ``given`` of a CALL_AGAIN: the subject's word is there. The bits below are of the first arguments …"""
AGAIN_ARGUMENTS = 7
"""… so many."""
AGAIN_ORIGIN_BITS = 13
"""Of ``origin``: the place of the CALL in its chunk, in units of 8 bytes. The bits above tell which of the newest subjects it is."""
AGAIN_TOLD = 1
"""In ``took``: a CALL tells of it instead."""
EXAMPLES = 2048
"""Of each thread, that a CALL_LIKE can be like."""
EXAMPLE_BYTES = 8192
"""An example has at most."""

CHUNK_HEADER = struct.Struct("<IIIIQ40x")

FIELDS = {
    "RecordHeader": "u32 size, u16 type, u16 flags",
    "CallRecord": "u32 size, u16 type, u16 flags, u32 entry_point, u32 status, u64 entered, u64 returned, u32 thread, u32 stack, "
    "u64 number, u64 context, u8 arguments, u8 objects, u8 outputs, u8 pointers, u32 input_bytes",
    "CallAgain": "u16 size, u8 given, u8 calls, u16 type, u16 origin, u32 since, u32 took",
    "CallLike": "u32 size, u16 type, u16 origin, u32 since, u32 took, u16 back, u8 words, u8 calls",
    "ObjectField": "u8 parameter, u8 kind, u16 flags, u32 generation, u64 handle, u64 context",
    "OutputField": "u8 parameter, u8 kind, u16 reserved, u32 generation, u64 value",
    "InputField": "u16 parameter, u16 reserved, u32 bytes",
    "Slot": "u32 entry_point, u32 status, u64 entered, u64 number, u64 args[5]",
    "Launch": f"u32 place, u32 number, u64 words[{LAUNCH_WORDS}], u32 grid_x, u16 grid_y, u16 grid_z, "
    "u16 block_x, u16 block_y, u16 block_z, u16 unread",
    "StackFields": "u32 id, u16 native, u16 python",
    "PythonFrameFields": "u32 code, u32 line",
    "PythonCodeFields": "u32 id, u16 file_bytes, u16 name_bytes",
    "ModuleFields": "u64 start, u64 end, u64 bias, u32 build_id_bytes, u32 path_bytes",
    "ThreadFields": "u32 id, u32 name_bytes",
    "MapsFields": "u64 number, u32 thread, u32 bytes",
    "FaultFields": "u32 signal, u32 thread, i32 code, u32 stack, u64 address, u64 instruction, u64 time",
    "ForkFields": "u32 child, u32 thread, u64 time, u32 stack, u32 reserved",
    "EntryPointsFields": "u32 first, u32 count",
    "NoteFields": "u32 code, u32 bytes",
    "ImageFields": "u64 number, u32 thread, u32 bytes, i64 readable",
    "OverlapFields": "u64 number, u32 thread, u32 other, u32 entry_point, u32 parameter",
    "LaunchPlaceFields": "u32 id, u32 stack, u64 function, u64 stream, u32 words",
    "LaunchesFields": "u64 number, u32 thread, u32 launching",
    "HandedOutFields": "u64 number, u32 thread, u32 count",
    "CodeFields": "u64 number, u32 thread, u32 bytes, u64 address, u64 total, u64 offset",
    "HostAccessFields": "u64 number, u32 thread, u32 stack, u64 address, u64 instruction, u64 time, u64 writes",
    "FreedChunksFields": "u64 first, u64 count",
    "LeftOutObjectsFields": "u64 time, u32 kind, u32 reserved, u64 count",
    "LeftOutCallsFields": "u32 thread, u32 reserved, u64 count, u64 number, u64 first, u64 last",
    "ExampleFields": "u64 place, u32 writer, u32 bytes",
    "SiteFields": "u64 site, u32 stack, u32 reserved",
    "ExitFields": "u32 stack, u32 thread",
}
"""The structures without gaps, by their names in the shim: type, name and count of each field. Of records it is what follows the header
and is always there."""
_CODES = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "u64": "Q", "i64": "q"}


def fields(name: str) -> list[tuple[str, str, int]]:
    """(type, name, count) of each; the count is 0 for what is no array."""
    found = re.findall(r"(\w+) (\w+)(?:\[(\d+)\])?", FIELDS[name])
    return [(kind, field, int(count or 0)) for kind, field, count in found]


def _struct(name: str) -> struct.Struct:
    return struct.Struct("<" + "".join(f"{count or ''}{_CODES[kind]}" for kind, _, count in fields(name)))


def size_of(name: str) -> int:
    """In bytes."""
    return _struct(name).size


def _dtype(name: str) -> np.dtype[np.void]:
    return np.dtype([(field, f"<{_CODES[kind]}", count or ()) for kind, field, count in fields(name)])


RECORD_HEADER = _struct("RecordHeader")
CALL = _dtype("CallRecord")
"""The part of a CALL record that every call has."""
AGAIN = _dtype("CallAgain")
LIKE = _dtype("CallLike")
CALL_FIXED = _struct("CallRecord")
CALL_OBJECT = _struct("ObjectField")
CALL_OUTPUT = _struct("OutputField")
CALL_INPUT = _struct("InputField")
FLIGHT_SLOT = _dtype("Slot")
LAUNCH = _dtype("Launch")
RING = np.dtype(
    [("slots", FLIGHT_SLOT, FLIGHT_SLOTS), ("launches", LAUNCH, FLIGHT_SLOTS), ("on_host", "<u2", FLIGHT_SLOTS)]
)
PYTHON_FRAME = _struct("PythonFrameFields")
SIDE = {
    int(kind): _struct(f"{kind.name.title().replace('_', '')}Fields")
    for kind in RecordType
    if kind not in (RecordType.CALL, RecordType.CALL_AGAIN, RecordType.CALL_LIKE)
}
"""The fixed part of each record that is no call."""
