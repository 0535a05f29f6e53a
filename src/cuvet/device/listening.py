"""Makes the sockets on which the emulated device answers: the launcher does so before the device's process runs."""

import socket

MOST_WAITING = 128
"""Connections that are not accepted yet. Further clients wait."""


def listening(address: str) -> socket.socket:
    """A Unix socket to which clients can connect. OSError if there can be none of this address."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(address)
    listener.listen(MOST_WAITING)
    return listener
