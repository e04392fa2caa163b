"""The recorded events of `events/`, and the key that opens what they ask."""

import json
from pathlib import Path
from typing import Any

from sakuin.domain.keys import KEY_PREFIX, hash_of_key

EVENTS = Path(__file__).resolve().parents[2] / "events"
KEY = "sk_sakuin_the-key-in-this-file-opens-nothing"
PEPPER = "pepper"
# An endpoint of Search Tools, and a key of the shape that such a one has.
ENDPOINT = "00000000-0000-4000-8000-00000000000e"
ENDPOINT_KEY = KEY_PREFIX + "e" * 43
AUTHORIZATION = {"Authorization": f"Bearer {KEY}"}


def event(name: str) -> dict[str, Any]:
    """One recorded event."""
    read: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    return read


def ring(*, newer: bool = False) -> tuple[list[str], tuple[str, ...]]:
    """Knows the one key."""
    return [hash_of_key(KEY, PEPPER)], (PEPPER,)


class Context:
    """What Lambda tells a handler about its invocation."""

    function_name = "sakuin"
    memory_limit_in_mb = 1024
    invoked_function_arn = "arn:aws:lambda:ap-northeast-1:123456789012:function:sakuin"
    aws_request_id = "52fdfc07-2182-154f-163f-5f0f9a621d72"

    def get_remaining_time_in_millis(self) -> int:
        return 120_000
