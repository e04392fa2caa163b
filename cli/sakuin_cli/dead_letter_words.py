"""What a dead letter is about, in words for people."""

import json
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError
from sakuin.domain.work import WorkQueueName
from sakuin.entrypoints.material_messages import changes
from sakuin.entrypoints.tool_messages import BodyArrived, ToolEvent, embed_work, tool_work
from sakuin.errors import SakuinError
from sakuin.services.follow_bucket import AskedAgain, Change, LookedAt, Removed

# What nobody can read is shown as it is, but for its end.
_SHOWN = 120


def in_words(queue: WorkQueueName, body: str) -> str:
    """One line that says what a message asks for."""
    try:
        said = _READERS[queue](body) or f"nothing to do: {_shortened(body)}"
    except SakuinError:
        said = f"not a message of this queue: {_shortened(body)}"
    # A terminal would obey what it cannot print.
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in said)


def _material(body: str) -> str:
    return "; ".join(map(_change, changes(body)))


def _change(change: Change) -> str:
    if isinstance(change, AskedAgain):
        return f"apply {change.material} again: {change.reason}"
    if isinstance(change, LookedAt):
        return f"look at {change.key}: {change.reason}"
    done = "removed" if isinstance(change, Removed) else "uploaded"
    return f"{change.source.key} was {done} (version {change.source.version_id or '–'})"


def _tool(body: str) -> str:
    event = _event(body)
    if event is not None:
        tool = f" of tool {event.detail.tool_id}," if event.detail.tool_id else " of"
        return f"{event.event}{tool} Table {event.detail.table_id}"
    return "; ".join(
        f"import the uploaded document of Table {asked.table_id}"
        if isinstance(asked, BodyArrived)
        else f"walk over Table {asked.table_id}" + (f", from string {asked.skip:,}" if asked.skip else "")
        for asked in tool_work(body)
    )


def _event(body: str) -> ToolEvent | None:
    try:
        message: Any = json.loads(body)
        return ToolEvent.model_validate(message)
    except (ValueError, RecursionError, ValidationError):
        return None


def _embed(body: str) -> str:
    asked = embed_work(body)
    return f"embed {len(asked.chunks)} chunks of Table {asked.table_id}"


def _shortened(body: str) -> str:
    line = " ".join(body.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


_READERS: dict[WorkQueueName, Callable[[str], str]] = {"material": _material, "tool": _tool, "embed": _embed}
