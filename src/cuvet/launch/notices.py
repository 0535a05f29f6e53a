"""Receives notices of processes that could not write their recording or reach the emulated device.

They may be another user's, or have another root directory, so that nothing in the file system is common to both: the socket's name is
abstract. Who knows the name can send; who is believed sends the token too, which only the program's environment has. The kernel says who
sent (``SO_PASSCRED``).
"""

import os
import secrets
import socket
import struct
import threading

from cuvet.signals import error_text

MOST_LOST = 64
_TOKEN_BYTES = 32
_SENTENCES = {
    1: "could not write its recording ({}): cuvet did not see its CUDA calls",
    2: "could not reach the emulated device ({}): its CUDA calls failed",
}
"""By the numbers of ``Notice`` in native/notices.h."""
_NOTICE = struct.Struct("<32sII")
_CREDENTIALS = struct.Struct("=iII")


class Notices:
    """Listens from its creation until ``stop``. ``address`` is for the program's environment: the name and the token; "" if there can be no
    such socket here."""

    def __init__(self) -> None:
        name, self._token, self._end = (secrets.token_hex(_TOKEN_BYTES // 2) for _ in range(3))
        self.address = f"cuvet-{name}:{self._token}"
        self._abstract = f"\0cuvet-{name}"
        self._lost: dict[int, tuple[int, int, int]] = {}
        """Process to its user, its last notice and its errno."""
        self._left_out = False
        try:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            self._socket.bind(self._abstract)
        except OSError:
            self.address = ""
            return
        self._thread = threading.Thread(target=self._listen, name="cuvet-notices", daemon=True)
        self._thread.start()

    def stop(self) -> tuple[str, ...]:
        """Ends, and says what was heard, one sentence for each process."""
        if not self.address:
            return ()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as own:
            own.sendto(self._end.encode(), self._abstract)
        self._thread.join()
        self._socket.close()
        more = (
            ("further processes could not be recorded, or could not reach the emulated device",)
            if self._left_out
            else ()
        )
        return (*(_sentence(pid, *why) for pid, why in self._lost.items()), *more)

    def _listen(self) -> None:
        while True:
            data, ancillary, _, _ = self._socket.recvmsg(64, socket.CMSG_SPACE(_CREDENTIALS.size))
            if data == self._end.encode():
                return
            if len(data) != _NOTICE.size or not ancillary:
                continue
            token, what, error = _NOTICE.unpack(data)
            pid, user, _ = _CREDENTIALS.unpack(ancillary[0][2][: _CREDENTIALS.size])
            if what not in _SENTENCES or not secrets.compare_digest(token, self._token.encode()):
                continue
            if len(self._lost) < MOST_LOST or pid in self._lost:
                self._lost[pid] = (user, what, error)
            else:
                self._left_out = True


def _sentence(pid: int, user: int, what: int, error: int) -> str:
    process = f"process {pid}" if pid else "a process in another process namespace"
    whose = "" if user == os.getuid() else f", of user {user},"
    return f"{process}{whose} {_SENTENCES[what].format(error_text(error))}"
