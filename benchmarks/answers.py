"""Every answer of a running stack to the labelled questions, to compare two commits.

`python -m benchmarks.answers record FILE --data FOLDER --pages DIR … --table JSON` pushes the pages of each DIR below
its name, makes a Search Tool over the Table, asks MCP, REST and `explain`, and writes the answers to FILE.
`python -m benchmarks.answers compare BEFORE AFTER [--without MEMBER …]` prints which answers differ, and where.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from benchmarks.stack import Stack

_ROOT = Path(__file__).resolve().parent.parent
_LABELS = ("labels/knowledge.jsonl", "labels/pages.jsonl", "labels/near_misses.jsonl", "general/*/queries.jsonl")
# Ids, times and the first digits of a Table's id in the ids of its chunks: another stack has others.
_RANDOM = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8}(?=_[0-9a-f]{16}_)|\d{4}-\d\d-\d\dT[\d:.+Z]+"
)
_SHOWN = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    recorder = commands.add_parser("record")
    recorder.add_argument("file", type=Path)
    recorder.add_argument("--data", type=Path, required=True)
    recorder.add_argument("--pages", type=Path, nargs="*", default=())
    recorder.add_argument("--table", type=Path, required=True)
    recorder.set_defaults(run=lambda given: record(given.file, given.data, given.pages, given.table))
    comparer = commands.add_parser("compare")
    comparer.add_argument("files", type=Path, nargs=2)
    comparer.add_argument("--without", nargs="*", default=(), help="members of answers that are not compared")
    comparer.set_defaults(run=lambda given: sys.exit(compare(*given.files, without=given.without)))
    arguments = parser.parse_args()
    arguments.run(arguments)


def record(file: Path, data: Path, pages: Sequence[Path], table: Path) -> None:
    """Writes the answers as JSON: the name of each request with its answer."""
    stack = Stack(data)
    for folder in pages:
        _command(data, "push", str(folder), "--prefix", folder.name)
    made = json.loads(_command(data, "table", "put", str(table), "--name", table.stem, "--json"))
    words = ("--table", made["table_id"], "--json-path", "", "--name", "search_second", "--wait", "--json")
    tool = json.loads(_command(data, "tool", "new", *words))["tool_id"]
    endpoint = json.loads(_command(data, "endpoint", "new", "--name", "answers", "--tool", tool, "--json"))
    samples = stack.environment["SAKUIN_TOOLS_MCP_URL"].rpartition("/")[2]
    endpoints = {endpoint["mcp_id"]: endpoint["key"], samples: stack.environment["SAKUIN_TOOLS_API_KEY"]}
    answers = dict(_pages(stack))
    for mcp_id, key in endpoints.items():
        answers |= dict(_tables(stack, f"/mcp/{mcp_id}", key))
    file.write_text(json.dumps(answers, ensure_ascii=False, indent=1, sort_keys=True), "utf-8")
    print(len(answers), "answers")


def compare(before: Path, after: Path, *, without: Sequence[str]) -> int:
    """Prints the first differing place of each answer; returns 1 if any answer differs."""
    old, new = (json.loads(file.read_text("utf-8")) for file in (before, after))
    different = {}
    for name in old.keys() & new.keys():
        place = next(_differences(old[name], new[name], frozenset(without)), None)
        if place:
            different[name] = place
    for name, place in sorted(different.items())[:_SHOWN]:
        print(f"{name}: {place}")
    print(
        f"{len(old.keys() & new.keys())} compared, {len(different)} differ;",
        len(old.keys() ^ new.keys()),
        "in one file alone",
    )
    return int(bool(different))


def _pages(stack: Stack) -> Iterator[tuple[str, Any]]:
    """Yields the answers of the library."""
    yield "tools", stack.mcp("tools/list", {})["tools"]
    for query in _queries(_LABELS):
        yield f"mcp {query}", _call(stack, "search_knowledge", query=query)
        yield f"rest {query}", _post(stack, "/v1/search", "SAKUIN_API_KEY", query=query, top_k=10)
        yield f"explain {query}", _post(stack, "/v1/explain", "SAKUIN_ADMIN_KEY", query=query)
    materials = _call(stack, "list_materials")
    yield "list_materials", materials
    for material in materials["materials"]:
        name = material["material"]
        concepts = _call(stack, "list_concepts", material=name)
        yield f"list_concepts {name}", concepts
        yield f"read_page {name}", _call(stack, "read_page", material=name)
        yield f"find_text {name}", _call(stack, "find_text", text=name[-2:])
        for concept in concepts["concepts"][:3]:
            yield f"get_chunk_by_id {concept['id']}", _call(stack, "get_chunk_by_id", id=concept["id"])


def _tables(stack: Stack, path: str, key: str) -> Iterator[tuple[str, Any]]:
    """Yields the answers of the Search Tools of an endpoint."""
    for tool in stack.mcp("tools/list", {}, path=path, key=key)["tools"]:
        yield f"tool {tool['name']}", tool
        for query in _queries(("labels/table.jsonl", "general/*/queries.jsonl")):
            call = {"name": tool["name"], "arguments": {"query": query, "top_k": 10}}
            yield f"{tool['name']} {query}", _plain(_asked(partial(stack.mcp, "tools/call", call, path=path, key=key)))


def _queries(patterns: Sequence[str]) -> list[str]:
    files = [file for pattern in patterns for file in sorted((_ROOT / "tests").glob(pattern))]
    lines = (line for file in files for line in file.read_text("utf-8").splitlines())
    return list(dict.fromkeys(json.loads(line)["query"] for line in lines))


def _call(stack: Stack, tool: str, **arguments: Any) -> Any:
    return _plain(_asked(lambda: stack.mcp("tools/call", {"name": tool, "arguments": arguments})))


def _post(stack: Stack, path: str, key: str, **body: Any) -> Any:
    headers = {"Authorization": f"Bearer {stack.environment[key]}"}
    return _plain(_asked(lambda: stack.http.post(path, headers=headers, json=body).raise_for_status().json()))


def _asked(request: Any) -> Any:
    """Returns the answer to a request, which waits while too many come."""
    for _ in range(60):
        try:
            return request()
        except httpx.HTTPStatusError as error:
            if error.response.status_code != 429:
                raise
            time.sleep(float(error.response.headers.get("Retry-After", 1)))
    raise SystemExit("the stack refuses requests for a minute")


def _plain(answer: Any) -> Any:
    """Returns an answer without what is random; of a tool its structured content."""
    value = answer.get("structuredContent", answer) if isinstance(answer, dict) else answer
    return json.loads(_RANDOM.sub("…", json.dumps(value, ensure_ascii=False)))


def _differences(old: Any, new: Any, without: frozenset[str], place: str = "") -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted((old.keys() | new.keys()) - without):
            yield from _differences(old.get(name), new.get(name), without, f"{place}/{name}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(one, other, without, f"{place}/{number}")
    elif old != new:
        yield f"{place}: {str(old)[:80]} → {str(new)[:80]}"


def _command(data: Path, *words: str) -> str:
    program = Path(sys.executable).with_name("sakuin")
    environment = {**os.environ, "SAKUIN_DATA": str(data)}
    return subprocess.run([program, *words], env=environment, check=True, text=True, stdout=subprocess.PIPE).stdout


if __name__ == "__main__":
    main()
