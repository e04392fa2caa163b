"""What serving MCP costs without any search: the smallest tool of each, and the list of its tools."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.comparison.load import Parameters, milliseconds
from benchmarks.comparison.measure import SAKUIN, Contestant, Section, by_turns, quantiles, rows
from benchmarks.comparison.server import running_server

CALLERS = 8
CALLS = 240
PEERS = {"MCP SDK": "sdk", "FastMCP": "fastmcp"}
_SETTINGS = "uvicorn, one process, without sessions, answers as JSON"
_ADD: tuple[str, Parameters] = ("tools/call", {"name": "add", "arguments": {"a": 3, "b": 5}})
_SEARCH: tuple[str, Parameters] = ("tools/call", {"name": "search_knowledge", "arguments": {"query": "5 + 3"}})


def sections(own: Mapping[str, tuple[Path, tuple[Path, ...]]], peers: Path) -> Iterator[Section]:
    """Yields one of calls and one of lists; `own` has the interpreter and the path of each release."""
    with ExitStack() as running:
        ports = {
            name: running.enter_context(
                running_server(python, "benchmarks.comparison.own_server", "prepared", path=path)
            )
            for name, (python, path) in own.items()
        }
        for name, argument in PEERS.items():
            module = "benchmarks.comparison.peers.servers"
            ports[name] = running.enter_context(running_server(peers, module, argument))
        for title, message in (
            ("Calling the smallest tool", _call),
            ("Listing the tools", lambda _name: ("tools/list", {})),
        ):
            yield _section(title, ports, message)


def _call(name: str) -> tuple[str, Parameters]:
    return _ADD if name in PEERS else _SEARCH


def _section(title: str, ports: Mapping[str, int], message: Callable[[str], tuple[str, Parameters]]) -> Section:
    taken: dict[str, list[float]] = {name: [] for name in ports}

    def run(name: str) -> Callable[[], float]:
        def once() -> float:
            times = milliseconds(ports[name], CALLERS, CALLS, lambda _number: message(name))
            taken[name] += times
            return sum(times) / len(times) / CALLERS

        return once

    settings = dict.fromkeys(ports, _SETTINGS)
    times = by_turns([Contestant(name, _SETTINGS, run(name)) for name in ports])
    measured = rows(times, settings)
    more: dict[str, dict[str, Any]] = {
        row.name: {"calls/s": round(1000 / row.time.median), **quantiles(taken[row.name])} for row in measured
    }
    remark = (
        f"{CALLERS} callers, {CALLS} calls a run. {SAKUIN} checks a key, the origin and its limits, and describes "
        "six tools; the examples have one tool and no key. Its smallest call gives one prepared result."
    )
    return Section("serving", title, remark, "ms a call", rows(times, settings, more))
