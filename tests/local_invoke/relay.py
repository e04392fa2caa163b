"""Lets containers reach what listens on this machine's loopback alone."""

import socket
import threading
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager

# Linux: an address may be bound before it is there, as the bridge of containers is.
_IP_FREEBIND = 15
_AT_ONCE = 65_536


@contextmanager
def relayed(address: str, ports: Collection[int]) -> Iterator[None]:
    """Each port of 127.0.0.1 at `address` too, while the block runs."""
    with ExitStack() as listeners:
        for port in ports:
            listener = listeners.enter_context(socket.socket())
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setsockopt(socket.SOL_IP, _IP_FREEBIND, 1)
            listener.bind((address, port))
            listener.listen()
            listeners.callback(listener.shutdown, socket.SHUT_RDWR)
            threading.Thread(target=_accept, args=(listener, port), daemon=True).start()
        yield


def _accept(listener: socket.socket, port: int) -> None:
    while True:
        try:
            caller, _ = listener.accept()
        except OSError:
            return
        called = socket.create_connection(("127.0.0.1", port))
        for source, target in ((caller, called), (called, caller)):
            threading.Thread(target=_pump, args=(source, target), daemon=True).start()


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(_AT_ONCE):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        # One side has hung up.
        return
