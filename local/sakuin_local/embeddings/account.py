"""The limits of an account of OpenAI: requests and tokens a minute, credit, and the speed of answers."""

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from starlette.responses import JSONResponse

from sakuin_local.embeddings.question import Refused


class RateLimited(Refused):
    """The requests or tokens of this minute are used up, or the queue of the model is too long."""

    def __init__(self, kind: str, limit: int, seconds: float) -> None:
        units = {"requests": "requests per min (RPM)", "tokens": "tokens per min (TPM)", "queue": "waiting requests"}
        super().__init__(
            f"Rate limit reached on {units[kind]}: Limit {limit}. Please try again in {seconds:.3f}s.",
            parameter=None,
            status=429,
            type=kind,
            code="rate_limit_exceeded",
            # As the service sends both.
            headers={"retry-after": str(math.ceil(seconds)), "retry-after-ms": str(math.ceil(seconds * 1000))},
        )


class NoCredit(Refused):
    """The account has no credit. Waiting does not help, so the answer names no time."""

    def __init__(self) -> None:
        super().__init__(
            "You exceeded your current quota, please check your plan and billing details.",
            parameter=None,
            status=429,
            type="insufficient_quota",
            code="insufficient_quota",
        )


@dataclass
class Account:
    """An account of the first tier. `credit` is in tokens, None for enough; `clock` gives seconds.

    A minute's amount refills evenly, so a burst may use up all of it at once. Answers of a language model come with
    `tokens_per_second`, 0 for at once.
    """

    requests_per_minute: int = 3_000
    tokens_per_minute: int = 1_000_000
    credit: int | None = None
    tokens_per_second: float = 62.0
    clock: Callable[[], float] = time.monotonic
    _left: dict[str, float] = field(default_factory=dict)
    _at: float = 0.0

    def spend(self, tokens: int) -> None:
        """Takes a request of so many tokens from the account; raises `NoCredit` or `RateLimited`."""
        if self.credit is not None and self.credit < tokens:
            raise NoCredit
        limits = {"requests": self.requests_per_minute, "tokens": self.tokens_per_minute}
        now = self.clock()
        passed, self._at = now - self._at, now
        for kind, limit in limits.items():
            self._left[kind] = min(limit, self._left.get(kind, limit) + limit * passed / 60)
        for kind, amount in (("requests", 1), ("tokens", tokens)):
            if (lacking := amount - self._left[kind]) > 0:
                raise RateLimited(kind, limits[kind], lacking * 60 / limits[kind])
        self._left["requests"] -= 1
        self._left["tokens"] -= tokens
        if self.credit is not None:
            self.credit -= tokens

    def seconds(self, tokens: int) -> float:
        """Returns how long a language model writes so many tokens."""
        return tokens / self.tokens_per_second if self.tokens_per_second else 0.0

    async def write(self, tokens: int) -> None:
        """Waits as long as a language model writes so many tokens."""
        await asyncio.sleep(self.seconds(tokens))


def unlimited() -> Account:
    """Returns an account without limits, as the local stack has it: the machine is the limit."""
    return Account(1_000_000_000, 1_000_000_000_000, tokens_per_second=0)


def error_answer(refusal: Refused) -> JSONResponse:
    """Returns an error as OpenAI words it."""
    error: Mapping[str, str | None] = {
        "message": str(refusal),
        "type": refusal.type,
        "param": refusal.parameter,
        "code": refusal.code,
    }
    return JSONResponse({"error": error}, refusal.status, headers=dict(refusal.headers))
