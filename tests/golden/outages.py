"""What is answered while a vendor does not answer: its program on this machine is suspended meanwhile."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psutil

from tests.golden.deployment import Deployment, answer_entry
from tests.golden.files import Entries
from tests.golden.normalise import lines
from tests.golden.protocol import message
from tests.golden.searches import TOOL

# What the command line of each program holds.
_PROGRAMS = {
    "embeddings": "sakuin_local.embeddings",
    "turbopuffer": "sakuin_local.turbopuffer",
    "PostgREST": "postgrest",
}
_QUESTION = "二次方程式を公式で解きたい"


def outages(deployment: Deployment) -> Entries:
    """Returns the answers by the program that is suspended."""
    entries: Entries = {}
    for name, part in _PROGRAMS.items():
        with _suspend(deployment, part), ThreadPoolExecutor(3) as pool:
            asked = {what: pool.submit(ask, deployment) for what, ask in _ASKED.items()}
            entries |= {f"without {name}: {what}": answer.result() for what, answer in asked.items()}
        _wait_for_calm(deployment)
    return entries


@contextmanager
def _suspend(deployment: Deployment, part: str) -> Iterator[None]:
    assert deployment.process_id is not None
    programs = [
        process
        for process in psutil.Process(deployment.process_id).children()
        if any(part in word for word in process.cmdline())
    ]
    assert len(programs) == 1, (part, programs)
    programs[0].send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        programs[0].send_signal(signal.SIGCONT)


def _wait_for_calm(deployment: Deployment) -> None:
    """Waits until both searches answer as ever."""
    deployment.call("search_knowledge", {"query": _QUESTION})
    deployment.call(TOOL, {"query": _QUESTION}, url=deployment.tools_url, key=deployment.tools_key)


def _search(deployment: Deployment) -> Any:
    return _answer(deployment, "search_knowledge", {"query": _QUESTION, "top_k": 3})


def _search_tool(deployment: Deployment) -> Any:
    return _answer(
        deployment, TOOL, {"query": _QUESTION, "top_k": 1}, url=deployment.tools_url, key=deployment.tools_key
    )


def _answer(deployment: Deployment, tool: str, arguments: object, **endpoint: str) -> Any:
    answer = deployment.mcp(message("tools/call", {"name": tool, "arguments": arguments}), **endpoint)
    recorded = answer_entry(answer, deployment.normaliser())
    result = recorded["body"].get("result", {}) if isinstance(recorded["body"], dict) else {}
    # The same as text.
    return {**recorded, "body": result["structuredContent"]} if "structuredContent" in result else recorded


def _explain(deployment: Deployment) -> Any:
    body = {"query": _QUESTION, "depth": 1, "top_k": 1}
    answer = deployment.request("POST", "/v1/explain", key=deployment.admin_key, json=body)
    return answer_entry(answer, deployment.normaliser())


def _status(deployment: Deployment) -> Any:
    return answer_entry(deployment.request("GET", "/v1/status", key=deployment.admin_key), deployment.normaliser())


def _projects(deployment: Deployment) -> Any:
    path = f"/v1/projects/{deployment.environment['SAKUIN_PROJECT']}/tables"
    return answer_entry(deployment.request("GET", path, key=deployment.admin_key), deployment.normaliser())


def _command(deployment: Deployment) -> Any:
    done = deployment.sakuin("search", _QUESTION, "--top-k", "1")
    printed = {"exit": done.returncode, "stdout": lines(done.stdout), "stderr": lines(done.stderr)}
    return deployment.normaliser().value(printed)


_ASKED = {
    "search_knowledge": _search,
    "a Search Tool": _search_tool,
    "POST /v1/explain": _explain,
    "GET /v1/status": _status,
    "GET /v1/projects/{id}/tables": _projects,
    "sakuin search": _command,
}
