"""The device process's end of the protocol, and what it does to peers that do not keep to it."""

from __future__ import annotations

import os
import re
import resource
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuvet.catalog import driver, runtime
from cuvet.device.process import Machine
from cuvet.device.protocol import (
    FORESEEN,
    FORESEEN_CALL,
    OWN_QUESTION,
    UNANSWERED,
    VERSION,
    Answer,
    Bring,
    Careful,
    Command,
    Goodbye,
    Hello,
    Key,
    MessageKind,
    Op,
    ProtocolError,
    Request,
    decode,
)

from .support import Device, running_device


def hello(thread: int = 4242, version: int = VERSION, process: int = 4242) -> bytes:
    return struct.pack("<BBHIIIQ", 255, 0, version, 0, process, thread, 99)


HELLO = hello()


def framed(message: bytes) -> bytes:
    return struct.pack("<I", len(message)) + message


def request(name: str, *words: int, kind: int = 0, flags: int = 0) -> bytes:
    entry_point = driver()[name].id
    return struct.pack(f"<BBHI{len(words)}Q", kind, len(words), flags, entry_point, *words)


def connect(device: Device) -> socket.socket:
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.settimeout(60)
    client.connect(str(device.socket))
    return client


def receive(client: socket.socket) -> bytes:
    """The next command, without its length; b"" if the connection was closed."""
    head = client.recv(4, socket.MSG_WAITALL)
    return client.recv(int.from_bytes(head, "little"), socket.MSG_WAITALL) if head else b""


def test_the_page_has_the_numbers_of_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
    kinds, commands = page.split("## Device protocol")[1].split("**Commands from the device.**")
    rows = re.findall(r"^\| (\d+) \| ([A-Za-z_ ]+)", kinds, re.MULTILINE)
    named = {"call of a library": "LIBRARY_CALL", "answer to a command": "ANSWER"}
    found = {named.get(name.strip(), name.strip().upper().replace(" ", "_")): int(number) for number, name in rows}
    assert found == {kind.name: kind.value for kind in MessageKind}
    assert re.findall(r"^\| (\d+) \| ([A-Z_]+) \|", commands, re.MULTILINE) == [(str(op.value), op.name) for op in Op]


def test_requests_are_decoded() -> None:
    message = request("cuInit", 7) + struct.pack("<HHI", 3, 0, 2) + b"ab"
    assert decode(message) == Request(False, driver()["cuInit"].id, (7,), structs={3: b"ab"})
    library = struct.pack("<BBHIQ", 2, 1, 0, 900, 7)
    assert decode(library) == Request(False, 900, (7,), library=True)
    assert decode(HELLO) == Hello(0, 4242, 4242, 99)
    assert decode(struct.pack("<BBHi", 254, 0, 0, 14) + b"data") == Answer(14, b"data")


def test_commands_are_encoded() -> None:
    encoded = Command(Op.WRITE, (0x1000, -1), b"xyz").encode()
    assert encoded == struct.pack("<IBBHIQQ", 27, 3, 2, 0, 0, 0x1000, 2**64 - 1) + b"xyz"


@given(st.binary(max_size=80))
def test_any_bytes_are_decoded_or_refused(message: bytes) -> None:
    try:
        decoded = decode(message)
    except ProtocolError:
        return
    assert isinstance(decoded, (Answer, Bring, Careful, Goodbye, Hello, Key, Request))


def test_a_call_is_answered_over_the_socket(device: Device) -> None:
    with connect(device) as client:
        client.sendall(framed(HELLO) + framed(request("cuInit", 0)))
        assert receive(client) == struct.pack("<BBHIQ", Op.RETURN, 1, 0, 0, 0)
        client.sendall(framed(request("cuDeviceGetCount", 0x5000)))
        assert receive(client) == command(Op.WRITE, 0x5000, data=struct.pack("<I", 1), call=1)
        client.sendall(framed(struct.pack("<BBHI", 254, 0, 0, 14)))
        assert receive(client) == command(Op.RETURN, 1, call=1)


def command(op: Op, *operands: int, data: bytes = b"", call: int = 0, flags: int = 0) -> bytes:
    return struct.pack(f"<BBHI{len(operands)}Q", op, len(operands), flags, call, *operands) + data


def answer(*words: int, error: int = 0) -> bytes:
    return struct.pack(f"<BBHI{len(words)}Q", 254, 0, 0, error, *words)


def test_what_could_be_written_before_is_not_waited_for(device: Device) -> None:
    with connect(device) as client:
        client.sendall(framed(HELLO) + framed(request("cuInit", 0)) + framed(request("cuDeviceGetCount", 0x5000)))
        assert receive(client) == command(Op.RETURN, 0)
        one = struct.pack("<I", 1)
        assert receive(client) == command(Op.WRITE, 0x5000, data=one, call=1)
        client.sendall(framed(answer()))
        assert receive(client) == command(Op.RETURN, 0, call=1)
        client.sendall(framed(request("cuDeviceGetCount", 0x5FF8)))
        assert receive(client) == command(Op.WRITE, 0x5FF8, data=one, call=2, flags=UNANSWERED)
        assert receive(client) == command(Op.RETURN, 0, 1, call=2), "and what it returns if that fails"
        client.sendall(framed(request("cuDeviceGetCount", 0x5FFE)))
        assert receive(client) == command(Op.WRITE, 0x5FFE, data=one, call=3), "the next page was not written yet"


def runtime_request(name: str, *words: int) -> bytes:
    flags = 13 << 8 | (len(runtime()[name].signatures) - 1) << 1
    return struct.pack(f"<BBHI{len(words)}Q", 1, len(words), flags, runtime()[name].id, *words)


def test_the_shim_need_not_tell_what_a_driver_call_returned(device: Device) -> None:
    scratch, context = 0x7000, driver()["cuCtxGetCurrent"].id
    with connect(device) as client:
        client.sendall(framed(HELLO) + framed(runtime_request("cudaDeviceSynchronize")))
        assert receive(client) == command(Op.CALL_DRIVER, driver()["cuInit"].id, 0)
        client.sendall(framed(request("cuInit", 0)))
        assert receive(client) == command(Op.RETURN, 0, call=1)
        assert receive(client) == command(Op.SCRATCH, 4096)
        client.sendall(framed(answer(scratch)))
        assert receive(client) == command(Op.CALL_DRIVER, context, scratch, flags=FORESEEN)
        first = FORESEEN_CALL
        assert receive(client) == command(Op.WRITE, scratch, data=bytes(8), call=first), "of the call not asked for"
        client.sendall(framed(answer()))
        assert receive(client) == command(Op.RETURN, 0, call=first)
        assert receive(client) == command(Op.CALL_DRIVER, driver()["cuDevicePrimaryCtxRetain"].id, scratch, 0)
        client.sendall(framed(request("cuDriverGetVersion", 0x9000, flags=OWN_QUESTION)))
        assert receive(client)[0] == Op.WRITE
        client.sendall(framed(answer()))
        assert receive(client) == command(Op.RETURN, 0, call=2), "a question of the shim's own is not the driver call"
        client.sendall(framed(answer(3)))
        assert receive(client) == command(Op.RETURN, 3), "a wrapper that did not ask tells its status"


def serve(client: socket.socket, name: str, *words: int) -> list[tuple[Op, int, int]]:
    """Make the runtime call, as a shim does: each command's number, flags and first operand, until the call returns."""
    client.sendall(framed(runtime_request(name, *words)))
    commands: list[tuple[Op, int, int]] = []
    outer = number = -1
    while not commands or commands[-1][0] is not Op.RETURN or number != outer:
        received = receive(client)
        op, count, flags, number = struct.unpack_from("<BBHI", received)
        operands = struct.unpack_from(f"<{count}Q", received, 8)
        outer = outer if commands else number
        commands.append((Op(op), flags, operands[0]))
        if op == Op.CALL_DRIVER and not flags & FORESEEN:
            client.sendall(framed(request(driver().entry_points[operands[0]].name, *operands[1:])))
        elif op not in (Op.RETURN, Op.CALL_DRIVER) and not flags & UNANSWERED:
            client.sendall(framed(answer(0x7000)))
    return commands


RETURNS_EARLY = """
import sys
from pathlib import Path
from cuvet.device.process import Machine
from cuvet.device.protocol import Command, Op
from cuvet.device.server import Server

def answer(thread, request):
    if request.runtime:
        yield Command(Op.CALL_DRIVER, (int(sys.argv[2]), 0x5000, 0))
        print("goes on", flush=True)
    else:
        thread.link.unfinished = lambda: print("model", flush=True)
    return 0

server = Server(Path(sys.argv[1]), Machine(1), answer)
print("ready", flush=True)
server.serve()
"""


def test_the_model_is_told_when_the_program_goes_on(tmp_path: Path) -> None:
    path, create = tmp_path / "socket", driver()["cuStreamCreate"].id
    command = [sys.executable, "-c", RETURNS_EARLY, str(path), str(create)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        assert server.stdout.readline() == "ready\n"
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(framed(HELLO) + framed(struct.pack("<BBHI", 1, 0, 0, 7)))
            assert receive(client)[0] == Op.CALL_DRIVER
            client.sendall(framed(request("cuStreamCreate", 0x5000, 0)))
            assert [receive(client)[0], receive(client)[0]] == [Op.RETURN, Op.RETURN]
        assert [server.stdout.readline().strip() for _ in range(2)] == ["goes on", "model"]
    finally:
        server.terminate()
        server.communicate()


def test_what_ends_nothing_is_not_asked_for_by_the_only_thread(device: Device) -> None:
    waits, context = driver()["cuCtxSynchronize"].id, driver()["cuCtxGetCurrent"].id
    with connect(device) as client:
        client.sendall(framed(hello(process=4300)))
        serve(client, "cudaDeviceSynchronize")
        alone = [
            (Op.CALL_DRIVER, FORESEEN, context),
            (Op.WRITE, UNANSWERED, 0x7000),
            (Op.RETURN, 0, 0),
            (Op.CALL_DRIVER, FORESEEN, waits),
            (Op.RETURN, 0, 0),
            (Op.RETURN, 0, 0),
        ]
        assert serve(client, "cudaDeviceSynchronize") == alone
        assert (Op.CALL_DRIVER, FORESEEN, driver()["cuMemAlloc"].id) in serve(client, "cudaMalloc", 0x7100, 64)
        assert (Op.CALL_DRIVER, 0, driver()["cuMemFree"].id) in serve(client, "cudaFree", 0x500000)
        with connect(device) as other:
            other.sendall(framed(hello(thread=4243, process=4300)))
            assert serve(other, "cudaDeviceSynchronize")
            assert (Op.CALL_DRIVER, 0, waits) in serve(client, "cudaDeviceSynchronize")


def test_a_call_that_waits_for_its_client_does_not_stop_others(device: Device) -> None:
    with connect(device) as slow, connect(device) as other:
        slow.sendall(framed(HELLO) + framed(request("cuInit", 0)) + framed(request("cuDeviceGetCount", 0x5000)))
        assert receive(slow)[0] == Op.RETURN
        assert receive(slow)[0] == Op.WRITE
        other.sendall(framed(hello(thread=4243)) + framed(request("cuInit", 0)))
        assert receive(other)[0] == Op.RETURN


def test_a_connection_that_is_brought_is_served(device: Device) -> None:
    with connect(device) as first, connect_through(first) as second:
        first.close()
        second.sendall(framed(HELLO) + framed(request("cuInit", 0)))
        assert receive(second)[0] == Op.RETURN


def connect_through(first: socket.socket) -> socket.socket:
    ours, theirs = socket.socketpair()
    ours.settimeout(60)
    with theirs:
        socket.send_fds(first, [framed(struct.pack("<BBHI", 252, 0, 0, 0))], [theirs.fileno()])
    return ours


def test_a_thread_that_comes_again_finds_its_device_and_its_error() -> None:
    machine = Machine(2)
    for again, device in ((True, 1), (False, 0)):
        thread = machine.thread(Hello(0, os.getpid(), 7, 99))
        thread.device, thread.error = 1, 400
        machine.ended(thread)
        found = machine.thread(Hello(0, os.getpid(), 7, 99, again=again))
        assert (found.device, found.error) == (device, 400 * device)
        machine.ended(found)


@pytest.mark.parametrize("what", ["a file", "a datagram socket"])
def test_what_is_brought_must_be_a_connection(what: str, tmp_path: Path) -> None:
    with running_device(tmp_path) as device:
        with (
            connect(device) as client,
            open(tmp_path / "file", "w") as file,
            socket.socket(type=socket.SOCK_DGRAM) as other,
        ):
            descriptor = file.fileno() if what == "a file" else other.fileno()
            socket.send_fds(client, [framed(struct.pack("<BBHI", 252, 0, 0, 0))], [descriptor])
            assert receive(client) == b""
        with connect(device) as client:
            client.sendall(framed(HELLO) + framed(request("cuInit", 0)))
            assert receive(client)[0] == Op.RETURN


def connect_by_name(device: Device) -> tuple[socket.socket, bytes]:
    """A connection by the abstract name, and the message with the key."""
    name, _, key = device.environment["CUVET_DEVICE_KEY"].partition(":")
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.settimeout(60)
    client.connect(f"\0{name}")
    return client, struct.pack("<BBHI", 251, 0, 0, 0) + key.encode()


def test_who_comes_by_the_abstract_name_shows_the_key(device: Device) -> None:
    client, key = connect_by_name(device)
    with client:
        client.sendall(framed(key) + framed(HELLO) + framed(request("cuInit", 0)))
        assert receive(client)[0] == Op.RETURN


def test_clients_for_which_there_is_no_descriptor_are_turned_away(tmp_path: Path) -> None:
    with running_device(tmp_path) as device, connect(device) as first:
        first.sendall(framed(HELLO) + framed(request("cuInit", 0)))
        assert receive(first)[0] == Op.RETURN
        opened = max(int(name) for name in os.listdir(f"/proc/{device.process.pid}/fd"))
        resource.prlimit(device.process.pid, resource.RLIMIT_NOFILE, (opened + 3, opened + 3))
        clients = [connect(device) for _ in range(10)]
        assert clients[-1].recv(1) == b""
        first.sendall(framed(request("cuInit", 0)))
        assert receive(first)[0] == Op.RETURN
        for client in clients:
            client.close()
        with connect(device) as later:
            later.sendall(framed(HELLO) + framed(request("cuInit", 0)))
            assert receive(later)[0] == Op.RETURN


def test_without_the_key_nobody_is_let_in_and_nothing_is_said(tmp_path: Path) -> None:
    with running_device(tmp_path) as device:
        key = connect_by_name(device)[1]
        for message in (HELLO, key[:-1] + b"x", key[:-1], key + bytes(100), struct.pack("<BBHI", 252, 0, 0, 0)):
            client, _ = connect_by_name(device)
            with client:
                client.sendall(framed(message))
                assert receive(client) == b""
        idle = [connect_by_name(device)[0] for _ in range(100)]
        assert idle[-1].recv(1) == b""  # too many that have not shown it
        with connect(device) as client:
            client.sendall(framed(HELLO) + framed(request("cuInit", 0)))
            assert receive(client)[0] == Op.RETURN
        for each in idle:
            each.close()
        device.process.terminate()
        assert device.process.stderr is not None
        assert device.process.stderr.read() == ""


HOSTILE = {
    "a key that is not asked for": struct.pack("<BBHI", 251, 0, 0, 0) + b"key",
    "unknown kind": struct.pack("<BBHI", 77, 0, 0, 0),
    "too short": b"abc",
    "call before HELLO": request("cuInit", 0),
    "answer that nobody waits for": struct.pack("<BBHI", 254, 0, 0, 0),
    "BRING without a socket": struct.pack("<BBHI", 252, 0, 0, 0),
    "goodbye before HELLO": struct.pack("<BBHI", 253, 0, 0, 0),
    "another version": hello(version=9),
}
HOSTILE_AFTER_HELLO = {
    "a second HELLO": HELLO,
    "words that are not there": struct.pack("<BBHI", 0, 200, 0, 5),
    "struct that is not there": request("cuInit", 0) + struct.pack("<HHI", 0, 0, 1 << 30),
    "too few words": request("cuStreamCreate", 0),
    "no such entry point": struct.pack("<BBHI", 0, 0, 0, 100_000),
    "no such runtime entry point": struct.pack("<BBHI", 1, 0, 0, 100_000),
    "runtime signature that is not there": struct.pack("<BBHIQ", 1, 1, 0xFE, 100, 0),
    "wrong number of runtime words": struct.pack("<BBHI", 1, 0, 13 << 8, 264),
    "no such library entry point": struct.pack("<BBHI", 2, 0, 0, 100_000),
    "driver entry point as a library's": struct.pack("<BBHI", 2, 0, 0, 5),
    "wrong number of a library's words": struct.pack("<BBHI", 2, 0, 0, len(driver().entry_points)),
}


@pytest.mark.parametrize("before", ["", "HELLO"])
def test_garbage_closes_the_connection_with_one_line(before: str, tmp_path: Path) -> None:
    messages = HOSTILE_AFTER_HELLO if before else HOSTILE
    with running_device(tmp_path) as device:
        for message in messages.values():
            with connect(device) as client:
                client.sendall((framed(HELLO) if before else b"") + framed(message))
                assert receive(client) == b""
        with connect(device) as client:
            client.sendall(struct.pack("<I", 0xFFFFFFF0))
            assert receive(client) == b""
        with connect(device) as client:
            client.sendall(framed(HELLO) + framed(request("cuInit", 0)))
            assert receive(client)[0] == Op.RETURN
        device.process.terminate()
        assert device.process.stderr is not None
        lines = device.process.stderr.read().splitlines()
    assert len(lines) == len(messages) + 1, lines
    assert all(line.startswith("cuvet.device: ") and line.endswith("; the connection is closed") for line in lines)


def test_it_ends_on_request_and_takes_its_socket_away(tmp_path: Path) -> None:
    with running_device(tmp_path) as device:
        device.process.terminate()
        assert device.process.wait(timeout=60) == 0
        assert not device.socket.exists()


def test_bad_options_are_told_in_one_line(device: Device) -> None:
    ended = device.python(
        "import sys; from cuvet.device.__main__ import main; sys.exit(main(sys.argv[1:]))", "--socket", os.sep
    )
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
