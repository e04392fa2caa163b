"""Entries in the files of agents, with a record of what was written, so that it can be undone."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sakuin.errors import Invalid

from sakuin_cli.connecting.agents import Agent
from sakuin_cli.connecting.text import CannotEdit, Insertion, without
from sakuin_cli.files import read_bytes, replace_bytes

_PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class _Record:
    """An entry that was written. It holds no text of the file, so no key."""

    agent: str
    name: str
    file: str
    # The permissions before; None if the file did not exist.
    mode: int | None
    sha256: str
    insertions: Sequence[Sequence[int]]
    # What was added, and which of the outer objects and arrays were new.
    paths: Sequence[Sequence[str]]
    created: Sequence[str]


@dataclass(frozen=True, slots=True)
class ConnectedFiles:
    """The files of agents in a home folder."""

    home: Path

    def configuration(self, agent: Agent) -> Mapping[str, Any]:
        """Returns what the file of an agent says; raises `Invalid` if it cannot be parsed."""
        file = agent.file(self.home)
        with _left_as_it_is(file):
            return _parsed(agent, _read(file)[0])

    def connect(self, agent: Agent, name: str, addition: Mapping[str, Any]) -> bool:
        """Writes the entry `name` of `addition`, and nothing else; returns whether the file was changed.

        An entry of an earlier run is replaced. One that somebody else wrote is `Invalid`.
        """
        file = agent.file(self.home)
        present, wanted = agent.entry(self.configuration(agent), name), agent.entry(addition, name)
        if present and all(present.get(key) == value for key, value in wanted.items()):
            return False
        earlier = [one for one in self._of(agent) if (one.name, one.file) == (name, str(file))]
        if present and not self._undo(agent, earlier):
            raise Invalid(f"{file} has an entry {name} that this command did not write: give --name another name")
        text, mode = _read(file)
        paths = _paths(addition)
        with _left_as_it_is(file):
            before = _parsed(agent, text)
            created = [key for key in addition if key not in before]
            new, insertions = agent.text.insert(text, addition)
            after = _parsed(agent, new)
            if agent.entry(after, name) != wanted or _others(after, paths) != _others(before, paths):
                raise CannotEdit("the entry has no place in it")
        record = _Record(
            agent=agent.name,
            name=name,
            file=str(file),
            mode=mode,
            sha256=_sha256(new),
            insertions=[[one.start, one.length] for one in insertions],
            paths=paths,
            created=created,
        )
        # A record without its entry is harmless; an entry without its record cannot be undone.
        self._keep([*self._records(), record])
        replace_bytes(file, new.encode(), mode=_PRIVATE if agent.format.key_in == "file" or mode is None else mode)
        return True

    def undo(self, agent: Agent) -> bool:
        """Removes what this command wrote for an agent; returns whether there was anything.

        A file that nobody has changed since gets its bytes of before. From another one only the entry is removed.
        """
        return self._undo(agent, self._of(agent))

    def _of(self, agent: Agent) -> list[_Record]:
        return [one for one in self._records() if one.agent == agent.name]

    def _undo(self, agent: Agent, records: list[_Record]) -> bool:
        for record in reversed(records):
            _remove(agent, record)
            self._keep([one for one in self._records() if one != record])
        return bool(records)

    @property
    def _register(self) -> Path:
        return self.home / ".config" / "sakuin" / "connect.json"

    def _records(self) -> list[_Record]:
        if not self._register.is_file():
            return []
        try:
            return [_Record(**one) for one in json.loads(read_bytes(str(self._register)))]
        except (TypeError, ValueError) as error:
            raise Invalid(f"{self._register} is broken: delete it, then --undo can remove nothing") from error

    def _keep(self, records: list[_Record]) -> None:
        self._register.parent.mkdir(parents=True, exist_ok=True)
        written = json.dumps([asdict(one) for one in records], indent=1)
        replace_bytes(self._register, written.encode(), mode=_PRIVATE)


def _remove(agent: Agent, record: _Record) -> None:
    file = Path(record.file)
    text, mode = _read(file)
    if mode is None:
        return
    if _sha256(text) == record.sha256:
        new = without(text, [Insertion(*one) for one in record.insertions])
    else:
        with _left_as_it_is(file):
            before, new = _parsed(agent, text), text
            for path in record.paths:
                new = agent.text.remove(new, path)
            for key in record.created:
                new = agent.text.remove(new, [key], if_empty=True)
            after = _parsed(agent, new)
            if agent.entry(after, record.name) or _others(after, record.paths) != _others(before, record.paths):
                raise CannotEdit(f"remove the entry {record.name} yourself")
    if not new and record.mode is None:
        file.unlink()
    else:
        replace_bytes(file, new.encode(), mode=mode if record.mode is None else record.mode)


@contextmanager
def _left_as_it_is(file: Path) -> Iterator[None]:
    try:
        yield
    except CannotEdit as error:
        raise Invalid(f"{file} is left as it is: {error}") from error


def _read(file: Path) -> tuple[str, int | None]:
    """Returns the text with its line ends, and the permissions; no text and None if the file does not exist."""
    if not file.exists():
        return "", None
    try:
        return read_bytes(str(file)).decode(), file.stat().st_mode & 0o777
    except UnicodeDecodeError as error:
        raise Invalid(f"{file} is left as it is: it is not UTF-8") from error


def _parsed(agent: Agent, text: str) -> dict[str, Any]:
    value = agent.text.read(text)
    if not isinstance(value, dict):
        raise CannotEdit("it is not a JSON object")
    return value


def _paths(addition: Mapping[str, Any]) -> list[list[str]]:
    return [[outer, one["id"] if isinstance(one, dict) else one] for outer, inner in addition.items() for one in inner]


def _others(value: Mapping[str, Any], paths: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Returns a configuration without what is at `paths`, and without outer objects and arrays that are empty then."""
    others = dict(value)
    for outer, name in paths:
        inner = others.get(outer)
        if isinstance(inner, dict):
            others[outer] = {key: one for key, one in inner.items() if key != name}
        elif isinstance(inner, list):
            others[outer] = [one for one in inner if not isinstance(one, dict) or one.get("id") != name]
    outers = {outer for outer, _ in paths}
    return {key: one for key, one in others.items() if one or key not in outers}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
