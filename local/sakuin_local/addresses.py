"""Free ports of this machine."""

import json
import socket
from collections.abc import Iterable
from pathlib import Path

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """Returns a port that no program listens on now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    """Returns whether a server can listen on `port`; closing connections of an earlier server do not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def stable_ports(file: Path, names: Iterable[str]) -> dict[str, int]:
    """Returns a port for each name: the one in `file` if it is still free, otherwise a new one.

    The emulator's saved state holds addresses of the other services, so they must survive a restart.
    """
    known: dict[str, int] = json.loads(file.read_text()) if file.exists() else {}
    ports: dict[str, int] = {}
    for name in names:
        port = known.get(name, 0)
        while not port or port in ports.values() or not is_free(port):
            port = free_port()
        ports[name] = port
    file.write_text(json.dumps(ports, indent=1))
    return ports
