"""Requests of a case, one after the other, and their answers as they are stored."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

# What differs from run to run, and what is stored in its place.
VARIABLE = {
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}": "{id}",
    r"sk_sakuin_[\w-]{43}": "{key}",
    r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)": "{time}",
    r"(https?://[^\"?]*)\?[^\"]*": r"\1?{signature}",
}
Call = Callable[[str, str, Any], Any]


def answers_to(requests: Sequence[Sequence[Any]], call: Call, **ids: str) -> list[list[Any]]:
    """Sends requests; returns the status and the body of each answer.

    A request is its method and path, its body, and a name for the id of what it makes. `{name}` in later requests is
    that id, as it is in the answers.
    """
    answers = []
    for request, *rest in requests:
        body, name = (*rest, None, None)[:2]
        method, _, path = request.partition(" ")
        answer = call(method, path.format_map(ids), _with_ids(body, ids))
        content = answer.json() if answer.content else None
        if name:
            ids[name] = str(_made(content)["id"])
        answers.append([answer.status_code, stable(content, ids)])
    return answers


def stable(content: Any, ids: Mapping[str, str]) -> Any:
    """Returns the content with names in place of what differs from run to run, and numbers of three digits."""
    text = json.dumps(content, ensure_ascii=False)
    for name, id in ids.items():
        text = text.replace(id, f"{{{name}}}")
    for pattern, name in VARIABLE.items():
        text = re.sub(pattern, name, text)
    return json.loads(text, parse_float=lambda number: round(float(number), 3))


def _made(content: Mapping[str, Any]) -> Any:
    """Returns the record that was made: the body, or the only record in it."""
    return content if "id" in content else next(each for each in content.values() if isinstance(each, dict))


def _with_ids(body: Any, ids: Mapping[str, str]) -> Any:
    """Returns a body with ids in place of their names."""
    text = json.dumps(body)
    for name, id in ids.items():
        text = text.replace(f"{{{name}}}", id)
    return None if body is None else json.loads(text)
