"""Failed invocations of the stack's functions, as the emulator's CloudWatch Logs have them."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

_TRACEBACK = "Traceback (most recent call last):"
# The lines of an invocation appear at its end; some may get their time a little before they appear.
_LATE_S = 10.0


@dataclass(slots=True)
class FailedInvocations:
    """What failed since the call before. `logs` is boto3's client; each invocation has a log stream of its own."""

    logs: Any
    prefix: str
    clock: Callable[[], float] = time.time
    seen: set[str] = field(default_factory=set)
    since: float = field(init=False)

    def __post_init__(self) -> None:
        self.since = self.clock()

    def lines(self) -> list[str]:
        """Returns one line about each failed invocation; none while the emulator does not answer."""
        try:
            return list(self._lines())
        except (BotoCoreError, ClientError):
            # It is being restarted.
            return []

    def _lines(self) -> Iterator[str]:
        since, now, recent = self.since, self.clock(), set[str]()
        for group in self.logs.describe_log_groups(logGroupNamePrefix=self.prefix)["logGroups"]:
            name = group["logGroupName"]
            invocations: dict[str, list[str]] = {}
            start = round((since - _LATE_S) * 1000)
            for event in self.logs.filter_log_events(logGroupName=name, startTime=start)["events"]:
                invocations.setdefault(event["logStreamName"], []).append(event["message"])
            for stream, messages in invocations.items():
                if stream not in self.seen and (reason := reason_of(messages)):
                    yield f"function {name.removeprefix(self.prefix)} failed: {reason}"
            recent |= invocations.keys()
        self.seen, self.since = recent, now


def reason_of(messages: list[str]) -> str | None:
    """Returns why an invocation failed, in one line; None if it did not."""
    for place, message in enumerate(messages):
        if message.startswith('{"level":"ERROR"'):
            log = json.loads(message)
            return str(log.get("exception", log["message"])).splitlines()[-1]
        if message == _TRACEBACK:
            # The lines of the frames are indented; the error follows them.
            return next((line for line in messages[place + 1 :] if not line.startswith(" ")), _TRACEBACK)
    return None
