"""``python -m cuvet.device --socket PATH --devices N --memory BYTES``.

Says ``ready`` when clients may connect; runs until SIGTERM, or until its parent and its clients are gone.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import resource
import signal
import sys
from pathlib import Path

from cuvet.device.answer import answer
from cuvet.device.facts import TOTAL_MEMORY
from cuvet.device.process import Machine
from cuvet.device.server import Server
from cuvet.rules import model_rules

MOST_DEVICES = 64


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m cuvet.device", description="The emulated CUDA device's process.")
    parser.add_argument("--socket", type=Path, required=True, help="Unix socket to make and to answer on")
    parser.add_argument("--devices", type=int, default=1, help="how many GPUs there are, 0 to 64 (default 1)")
    parser.add_argument("--memory", type=int, default=TOTAL_MEMORY, help="bytes of each GPU (default: a real one's)")
    parser.add_argument(
        "--inherited",
        type=int,
        nargs="*",
        default=(),
        help="descriptors of the sockets, if they have been made already",
    )
    options = parser.parse_args(arguments)
    if not 0 <= options.devices <= MOST_DEVICES:
        parser.error(f"--devices: {options.devices} is not between 0 and {MOST_DEVICES}")
    try:
        machine = Machine(options.devices, options.memory)
        server = Server(options.socket, machine, answer, os.environ.get("CUVET_DEVICE_KEY", ""), options.inherited)
    except OSError as error:
        print(f"cuvet.device: cannot make the socket {options.socket}: {error.strerror or error}", file=sys.stderr)
        return 2
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a connection per client thread
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the program, which may still use CUDA while it ends
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # it is in the background, where a terminal may stop who writes
    atexit.register(gc.freeze)  # else Python searches all for cycles when it ends, and the launcher waits
    model_rules()
    try:
        print("ready", flush=True)
        server.serve()
    finally:
        options.socket.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
