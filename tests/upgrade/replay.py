"""Requests that a version recorded, sent to the database of a later one."""

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg

from tests.emptied import emptied

RECORDED = Path(__file__).with_name("recorded")
# Ids and times: another run has others.
_ID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*\+00:00"
)


@dataclass(frozen=True, slots=True)
class Call:
    """A request to PostgREST, and the answer: JSON, or the code of an error. `path` is `rpc/<function>` or a table."""

    method: str
    path: str
    params: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any
    answer: Any
    error: str | None = None

    @property
    def form(self) -> tuple[str, ...]:
        """Returns what is called with which arguments, whatever their values."""
        rows = self.body if isinstance(self.body, list) else [self.body or {}]
        arguments = {name for row in rows for name, value in row.items() if value is not None}
        return self.method, self.path, *sorted(self.params), *sorted(arguments)


Session = Sequence[Call]


@dataclass
class Replay:
    """Sends the calls of a session in their order. Ids and times of the recording stand for those of the answers."""

    url: str
    key: str = field(repr=False)
    sql: psycopg.Connection
    _ids: dict[str, str] = field(default_factory=dict)

    def repeat(self, session: Session) -> Iterator[Call]:
        """Yields the calls with the answers of this database."""
        emptied(self.sql)
        self._ids.clear()
        headers = {"apikey": self.key, "Authorization": f"Bearer {self.key}"}
        with httpx.Client(base_url=f"{self.url}/rest/v1/", headers=headers, timeout=20) as client:
            for call in session:
                params, given, body = (self._translated(each) for each in (call.params, call.headers, call.body))
                answered = client.request(call.method, call.path, params=params, headers=given, json=body)
                answer, error = read_answer(answered.status_code, answered.content)
                self._learn(call.answer, answer)
                yield Call(call.method, call.path, params, given, body, answer, error)

    def differences(self, session: Session) -> Iterator[str]:
        """Yields what a caller of the recorded version would miss."""
        for recorded, call in zip(session, self.repeat(session), strict=True):
            if call.error != recorded.error:
                yield f"{call.path}: {call.error or 'no error'} instead of {recorded.error or 'an answer'}"
            elif call.error is None:
                answer = self._translated(recorded.answer)
                yield from (f"{call.path}: {lack}" for lack in missing(answer, call.answer))

    def _translated(self, value: Any) -> Any:
        text = _ID.sub(lambda found: self._ids.get(found[0], found[0]), json.dumps(value))
        for old, new in self._ids.items():
            # Ids of chunks in the store begin with eight digits of their Table's.
            text = text.replace(f'"{old[:8]}_', f'"{new[:8]}_')
        return json.loads(text)

    def _learn(self, recorded: Any, answer: Any) -> None:
        """Pairs the ids at the same places of two answers."""
        if isinstance(recorded, str) and isinstance(answer, str):
            old, new = _ID.findall(recorded), _ID.findall(answer)
            if len(old) == len(new):
                self._ids.update(zip(old, new, strict=True))
        elif isinstance(recorded, list) and isinstance(answer, list):
            for one, other in zip(recorded, answer, strict=False):
                self._learn(one, other)
        elif isinstance(recorded, dict) and isinstance(answer, dict):
            for key in recorded.keys() & answer.keys():
                self._learn(recorded[key], answer[key])


def read_answer(status: int, content: bytes) -> tuple[Any, str | None]:
    """Returns the JSON of an answer, and the code of an error."""
    try:
        answer = json.loads(content) if content else None
    except ValueError:
        answer = content.decode()
    error = answer["code"] if isinstance(answer, dict) and "code" in answer else str(status)
    return answer, None if 200 <= status < 300 else error


def missing(recorded: Any, answer: Any, place: str = "the answer") -> Iterator[str]:
    """Yields the members, elements and types that `recorded` has and `answer` lacks. More members are allowed."""
    if recorded is None:
        return
    if isinstance(recorded, dict) and isinstance(answer, dict):
        for key, value in recorded.items():
            if key not in answer:
                yield f"{place} has no {key}"
            else:
                yield from missing(value, answer[key], f"{place}.{key}")
    elif isinstance(recorded, list) and isinstance(answer, list):
        # A later version has more migrations.
        has_more = place.endswith(".schema.migrations") and len(recorded) < len(answer)
        if len(recorded) != len(answer) and not has_more:
            yield f"{place} has {len(answer)} elements instead of {len(recorded)}"
        for number, (one, other) in enumerate(zip(recorded, answer, strict=False)):
            yield from missing(one, other, f"{place}[{number}]")
    elif _kind(recorded) != _kind(answer):
        yield f"{place} is {_kind(answer)} instead of {_kind(recorded)}"


def _kind(value: Any) -> str:
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def read_sessions() -> list[Session]:
    """Returns the recorded sessions of all released versions."""
    return [[Call(**call) for call in session] for recorded in _recorded() for session in recorded["sessions"]]


def read_messages() -> list[dict[str, Any]]:
    """Returns one message of each form that each released version sends."""
    return [message for recorded in _recorded() for message in recorded["messages"]]


def _recorded() -> Iterator[dict[str, Any]]:
    for file in sorted(RECORDED.glob("*.json.gz")):
        yield json.loads(gzip.decompress(file.read_bytes()))
