"""What serving MCP costs without any search: the smallest tool of each, and the list of its tools."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack

import psutil

from benchmarks.comparison.measure import PEERS_PYTHON, RUNS, SAKUIN, Row, Run, Section, by_turns, quantiles, rows
from benchmarks.comparison.server import Parameters, milliseconds, running_server

CALLERS = 8
CALLS = 240
PEERS = {"MCP SDK": "sdk", "FastMCP": "fastmcp"}
# A contestant and the number of a call to the method and its parameters.
Message = Callable[[str, int], tuple[str, Parameters]]
_SETTINGS = "uvicorn, one process, without sessions, answers as JSON"
_REMARK = (
    f"{CALLERS} callers, {CALLS} calls a run. {SAKUIN} checks a key, the origin and its limits, and describes four "
    "tools; the examples have one tool and no key. Its smallest call gives one prepared result."
)


def sections(run: Run) -> Iterator[Section]:
    """Yields one of calls and one of lists."""
    module = "benchmarks.comparison"
    with ExitStack() as running:
        ports = {
            name: running.enter_context(running_server(run.python, f"{module}.own_server", "prepared", path=path))
            for name, path in run.own.items()
        }
        for name, argument in PEERS.items():
            server = running_server(PEERS_PYTHON, f"{module}.peers.servers", argument)
            ports[name] = running.enter_context(server)
        settings = dict.fromkeys(ports, _SETTINGS)
        for title, message in (("Calling the smallest tool", _call), ("Listing the tools", _list)):
            measured = called(ports, settings, message, callers=CALLERS, calls=CALLS)
            yield Section("serving", title, _REMARK, "ms, p50", measured)


def called(
    ports: Mapping[str, int],
    settings: Mapping[str, str],
    message: Message,
    *,
    callers: int,
    calls: int,
    runs: int = RUNS,
) -> list[Row]:
    """Returns how long calls of each server take: the median of a run; of all runs quantiles, and the processor time.

    The processor time is that of the server's process: without databases that are other programs.
    """
    taken: dict[str, list[float]] = {name: [] for name in ports}
    used = dict.fromkeys(ports, 0.0)

    def contestant(name: str) -> Callable[[], float]:
        def once() -> float:
            before = _processor_seconds(ports[name])
            times = milliseconds(ports[name], callers, calls, lambda number: message(name, number))
            used[name] += _processor_seconds(ports[name]) - before
            taken[name] += times
            return quantiles(times)["p50"]

        return once

    times = by_turns({name: contestant(name) for name in ports}, runs)
    rates = {
        name: {
            "processor, ms": round(1000 * used[name] / len(some), 2),
            "calls/s": round(1000 * callers * len(some) / sum(some)),
        }
        for name, some in taken.items()
    }
    return rows(times, settings, {name: quantiles(some) | rates[name] for name, some in taken.items()})


def _processor_seconds(port: int) -> float:
    """Returns the processor time of the process that listens on a port."""
    listening = (each for each in psutil.net_connections("tcp4") if each.status == psutil.CONN_LISTEN)
    [process] = {each.pid for each in listening if each.laddr[1:] == (port,)}
    return sum(psutil.Process(process).cpu_times()[:2])


def _call(name: str, _number: int) -> tuple[str, Parameters]:
    if name in PEERS:
        return "tools/call", {"name": "add", "arguments": {"a": 3, "b": 5}}
    return "tools/call", {"name": "search_knowledge", "arguments": {"query": "5 + 3"}}


def _list(_name: str, _number: int) -> tuple[str, Parameters]:
    return "tools/list", {}
