"""Makes recordings by hand, as FORMAT.md says, for tests of the reader and of the analysis."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cuvet import catalog
from cuvet.catalog import Kind
from cuvet.recording import layout

HEADER_BYTES = 4096
CHUNK_BYTES = 65536
PENDING = 0xFFFFFFFF
NOT_ASKED = 0xFFFFFFFFFFFFFFFF

LIFECYCLE, SUSPECT, FAILED, ORDER, STREAM_ORDERED, PER_THREAD, WORK = 1, 2, 4, 8, 16, 32, 64
EXAMPLE = 2048


def record(kind: int, payload: bytes, flags: int = 0) -> bytes:
    size = (8 + len(payload) + 7) & ~7
    return struct.pack("<IHH", size, kind, flags) + payload.ljust(size - 8, b"\0")


def call(
    name: str,
    args: Sequence[int] = (),
    *,
    status: int = 0,
    entered: int = 0,
    returned: int | None = None,
    thread: int = 1,
    stack: int = 0,
    number: int = 1,
    flags: int = LIFECYCLE,
    context: int = NOT_ASKED,
    objects: Sequence[tuple[int, Kind, int, int, int, int]] = (),
    outputs: Sequence[tuple[int, Kind, int, int]] = (),
    pointers: Sequence[int] = (),
    inputs: dict[int, bytes] | None = None,
) -> bytes:
    """A CALL. ``objects`` are (parameter, kind, flags, generation, handle, context); ``outputs`` (parameter, kind, generation, value)."""
    if returned is None:
        returned = 0 if status == PENDING else entered + 10
    blobs = b"".join(
        struct.pack("<HHI", parameter, 0, len(data)) + data.ljust((len(data) + 7) & ~7, b"\0")
        for parameter, data in (inputs or {}).items()
    )
    words = [word % (1 << 64) for word in args]
    entry_point = catalog.recorded_entry_point(name)
    assert entry_point is not None, name
    payload = struct.pack(
        "<IIQQIIQQBBBBI",
        entry_point.id, status, entered, returned, thread, stack, number, context,
        len(words), len(objects), len(outputs), len(pointers), len(blobs),
    )  # fmt: skip
    payload += struct.pack(f"<{len(words)}Q", *words)
    payload += b"".join(struct.pack("<BBHIQQ", *each) for each in objects)
    payload += b"".join(
        struct.pack("<BBHIQ", parameter, kind, 0, generation, value) for parameter, kind, generation, value in outputs
    )
    payload += struct.pack(f"<{len(pointers)}Q", *pointers) + blobs
    return record(1, payload, flags)


def again(
    origin: int,
    *,
    calls: int = 1,
    since: int = 10,
    took: int = 5,
    back: int = 0,
    subject: tuple[int, int] | None = None,
    given: dict[int, int] | None = None,
) -> bytes:
    """A CALL_AGAIN. ``origin``: where its CALL is in the chunk; ``subject``: handle and generation; ``given``: arguments by position."""
    words = [] if subject is None else [subject[1] % (1 << 16) << 48 | subject[0]]
    words += [(given or {})[position] for position in sorted(given or {})]
    said = (0x80 if subject is not None else 0) | sum(1 << position for position in given or {})
    head = struct.pack("<HBBHHII", 16 + 8 * len(words), said, calls, 16, origin // 8 | back << 13, since, took)
    return head + struct.pack(f"<{len(words)}Q", *words)


def like(
    place: int,
    *,
    calls: int = 1,
    since: int = 10,
    took: int = 5,
    back: int = 0,
    words: dict[int, int] | None = None,
) -> bytes:
    """A CALL_LIKE. ``place``: where its example is in its chunk; ``words``: those that differ, by position in the CALL."""
    positions = struct.pack(f"<{len(words or {})}H", *(words or {}))
    head = struct.pack("<IIHBB", since, took, back, len(words or {}), calls) + positions
    head += bytes(-(8 + len(head)) % 8)
    return record(22, head + struct.pack(f"<{len(words or {})}Q", *(words or {}).values()), place // 8)


def with_examples(chunks: Sequence[bytes]) -> list[bytes]:
    """The same, but that launches are told by what differs from the first of their form and thread."""
    examples: dict[tuple[int, int], tuple[int, int, bytes]] = {}
    made = []
    for index, chunk in enumerate(chunks):
        thread = int.from_bytes(chunk[8:12], "little")
        at, parts, before = 64, bytearray(chunk[:12] + struct.pack("<I", thread) + chunk[16:64]), None
        while at + 8 <= len(chunk) and (size := int.from_bytes(chunk[at : at + 4], "little")):
            whole = chunk[at : at + size]
            kind, flags = struct.unpack_from("<HH", whole, 4)
            at += size
            if kind == 1 and flags & WORK:
                index_of, place, example = examples.setdefault((thread, size), (index, len(parts), whole))
                if example is whole:
                    whole = whole[:6] + struct.pack("<H", flags | EXAMPLE) + whole[8:]
                elif before is not None and example[6:8] == whole[6:8]:
                    parts += _like(whole, example, before, place, index - index_of)
                    before = whole
                    continue
            before = whole if kind == 1 else before
            parts += whole
        made.append(bytes(parts.ljust(CHUNK_BYTES, b"\0")))
    return made


def _like(whole: bytes, example: bytes, before: bytes, place: int, back: int) -> bytes:
    (_, _, entered, returned, _, number), (_, _, since, _, _, last) = (
        struct.unpack_from("<6Q", each) for each in (whole, before)
    )
    count = len(whole) // 8
    pairs = zip(struct.unpack(f"<{count}Q", whole), struct.unpack(f"<{count}Q", example), strict=True)
    words = {at: one for at, (one, other) in enumerate(pairs) if at not in (0, 1, 2, 3, 5, 7) and one != other}
    pending = struct.unpack_from("<I", whole, 12)[0] == PENDING
    took = 0 if pending else returned - entered
    return like(place, calls=number - last, since=entered - since, took=took, back=back, words=words)


def stack(number: int, native: Sequence[int] = (), python: Sequence[tuple[int, int]] = ()) -> bytes:
    frames = b"".join(struct.pack("<II", *frame) for frame in python)
    return record(
        2, struct.pack("<IHH", number, len(native), len(python)) + struct.pack(f"<{len(native)}Q", *native) + frames
    )


def python_code(number: int, file: str, name: str) -> bytes:
    a, b = file.encode(), name.encode()
    return record(3, struct.pack("<IHH", number, len(a), len(b)) + a + b)


def module(start: int, end: int, bias: int, path: str, build_id: bytes = b"") -> bytes:
    name = path.encode()
    return record(4, struct.pack("<QQQII", start, end, bias, len(build_id), len(name)) + build_id + name)


def thread(number: int, name: str) -> bytes:
    return record(5, struct.pack("<II", number, len(name)) + name.encode())


def maps(number: int, thread: int, text: str) -> bytes:
    return record(6, struct.pack("<QII", number, thread, len(text)) + text.encode())


def fault(signal: int, thread: int, *, stack: int = 0, address: int = 0, ticks: int = 0) -> bytes:
    return record(7, struct.pack("<IIiIQQQ", signal, thread, 1, stack, address, 0, ticks))


def fork(child: int, *, thread: int = 1, ticks: int = 0, stack: int = 0) -> bytes:
    return record(8, struct.pack("<IIQII", child, thread, ticks, stack, 0))


def entry_points(names: Sequence[str], first: int = 0) -> bytes:
    return record(9, struct.pack("<II", first, len(names)) + b"".join(name.encode() + b"\0" for name in names))


def every_entry_point() -> bytes:
    """ENTRY_POINTS of driver and libraries, of as many records as it takes."""
    names = [entry_point.name for entry_point in catalog.recorded()]
    return b"".join(entry_points(names[first : first + 500], first) for first in range(0, len(names), 500))


def overlap(number: int, thread: int, other: int, inside: str, parameter: int = 0) -> bytes:
    entry_point = catalog.recorded_entry_point(inside)
    assert entry_point is not None, inside
    return record(12, struct.pack("<QIIII", number, thread, other, entry_point.id, parameter))


def handed_out(number: int, thread: int, objects: Sequence[tuple[int, Kind, int, int]]) -> bytes:
    """HANDED_OUT. ``objects`` are (parameter, kind, generation, value)."""
    fields = (struct.pack("<BBHIQ", parameter, kind, 0, *rest) for parameter, kind, *rest in objects)
    return record(15, struct.pack("<QII", number, thread, len(objects)) + b"".join(fields))


def note(code: int, text: str) -> bytes:
    return record(10, struct.pack("<II", code, len(text)) + text.encode())


def image(number: int, thread: int, readable: int, data: bytes, terminated: bool) -> bytes:
    return record(11, struct.pack("<QIIQ", number, thread, len(data), readable) + data, int(terminated))


def chunk(records: bytes, *, thread: int = 1, kind: int = 1, left: int = 0) -> bytes:
    assert len(records) <= CHUNK_BYTES - 64
    return (struct.pack("<IIIIQ40x", 0x4B4E4843, kind, thread, 0, left) + records).ljust(CHUNK_BYTES, b"\0")


def flight_slot(entry_point: str, status: int, number: int, *, entered: int = 0, args: Sequence[int] = ()) -> bytes:
    return struct.pack(
        "<IIQQ5Q", catalog.driver()[entry_point].id, status, entered, number, *[*args, 0, 0, 0, 0, 0][:5]
    )


def flight(slots: dict[int, bytes], *, thread: int = 1) -> bytes:
    """The ring of a thread; ``slots`` by call number."""
    ring = bytearray(256 * 64)
    for number, slot in slots.items():
        ring[number % 256 * 64 : number % 256 * 64 + 64] = slot
    return chunk(bytes(ring), thread=thread, kind=2)


def launch_place(
    number: int, function: int, *, stream: int = 0, stack: int = 0, words: Sequence[tuple[int, ...]] = ()
) -> bytes:
    """LAUNCH_PLACE. ``words`` are (parameter, offset), with a size if that is not 8."""
    sizes = ((parameter | (size[0] << 8 if size else 0), offset) for parameter, offset, *size in words)
    told = struct.pack(f"<{len(words)}I", *(parameter << 16 | offset for parameter, offset in sizes))
    return record(13, struct.pack("<IIQQI", number, stack, function, stream, len(words)) + told)


def launches(
    number: int,
    thread: int,
    slots: dict[int, bytes],
    made: dict[int, tuple[int, Sequence[int]]],
    *,
    launching: int = 1,
    on_host: dict[int, int] | None = None,
    unread: int = 0,
    shape: Sequence[int] = (4, 1, 1, 256, 1, 1),
    flags: int = layout.LAUNCH_SHAPED,
) -> bytes:
    """LAUNCHES of call ``number`` of ``thread``: the ring of ``launching``. By call number: ``slots``; ``made``, place and words. ``shape``
    and ``unread`` are those of all launches."""
    ring = np.zeros(1, layout.RING)[0]
    for each, slot in slots.items():
        ring["slots"][each % 256] = np.frombuffer(slot, layout.FLIGHT_SLOT)[0]
    for each, (place, words) in made.items():
        ring["launches"][each % 256] = (place, each, [*words, *[0] * 13][:13], *shape, unread)
        ring["on_host"][each % 256] = (on_host or {}).get(each, 0)
    return record(14, struct.pack("<QII", number, thread, launching) + ring.tobytes(), flags)


def header(
    *,
    pid: int = 1000,
    parent: int = 1,
    flags: int = 1,
    chunks: int = 0,
    clock: Sequence[tuple[int, int, int]] = ((0, 0, 1),),
    newest: int = 0,
    end: int = 1,
    calls: int = 0,
    dropped: int = 0,
    gpus: int = 1,
    gpu: Sequence[tuple[int, int]] = (),
    stop: tuple[int, int] = (0, 0),
    version: int = 2,
    executable: str = "",
) -> bytes:
    samples = [*clock, (0, 0, 0), (0, 0, 0)][:3]
    data = b"CUVETREC" + struct.pack("<6I", version, HEADER_BYTES, CHUNK_BYTES, pid, parent, flags)
    data += b"".join(struct.pack("<QQQ", *sample) for sample in samples)
    data += struct.pack("<QQIIQQIi", newest, chunks, end, catalog.driver().identity, calls, dropped, gpus, 13000)
    data = data.ljust(160, b"\0") + struct.pack("<QQ", *stop)
    data = data.ljust(1280, b"\0") + executable.encode()
    data = data.ljust(2304, b"\0") + b"".join(struct.pack("<QII", *facts, 0) for facts in gpu)
    return data.ljust(HEADER_BYTES, b"\0")


def recording(chunks: Sequence[bytes], **fields: object) -> bytes:
    return header(chunks=len(chunks), **fields) + b"".join(chunks)  # type: ignore[arg-type]


def write(directory: Path, chunks: Sequence[bytes], *, pid: int = 1000, start: int = 1, **fields: object) -> Path:
    path = directory / f"{pid}-{start}.cuvet"
    path.write_bytes(recording(chunks, pid=pid, **fields))
    return path
