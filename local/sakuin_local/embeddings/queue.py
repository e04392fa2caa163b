"""The queue of requests that wait for the model: questions first, then pages, then Tables."""

import asyncio
import itertools
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from sakuin_local.embeddings.question import Refused

# A request that would wait for longer is refused: a client waits for 30 seconds.
LONGEST_WAIT = 20.0
# Until it is measured: a text of 1,000 Japanese characters takes the model about a second.
_FIRST_SPEED = 800.0
_SHARE_OF_LAST = 0.2
_LEAST_SECONDS = 0.005


@dataclass(order=True, slots=True)
class QueuedRequest:
    """The place of a request in the queue. `left` is the number of its characters without a vector.

    If the request has to wait after the time `until` of the event loop, it is refused.
    """

    urgency: int
    number: int
    left: int = field(compare=False)
    until: float = field(compare=False)


@dataclass
class RequestQueue:
    """The requests that are not answered, and the speed of the model in characters a second.

    A place keeps the model until it is done, but a more urgent one comes before its next part.
    """

    longest_wait: float = LONGEST_WAIT
    speed: float = _FIRST_SPEED
    _places: list[QueuedRequest] = field(default_factory=list)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _is_busy: bool = False

    @asynccontextmanager
    async def place(self, urgency: int, characters: int) -> AsyncIterator[QueuedRequest]:
        """Gives a request its place while the block runs; raises `Refused` if it would wait for too long."""
        place = QueuedRequest(
            urgency, next(self._numbers), characters, asyncio.get_running_loop().time() + self.longest_wait
        )
        if self._has_others(place) and (late := self._seconds(place) - self.longest_wait) > 0:
            raise self._refusal(late)
        self._places.append(place)
        try:
            yield place
        finally:
            self._places.remove(place)
            async with self._changed:
                self._changed.notify_all()

    @asynccontextmanager
    async def turn(self, place: QueuedRequest, characters: int) -> AsyncIterator[None]:
        """Waits until the model is free for the next part of a request; raises `Refused` after the longest wait."""
        async with self._changed:
            if not self._may_embed(place):
                try:
                    async with asyncio.timeout_at(place.until):
                        await self._changed.wait_for(lambda: self._may_embed(place))
                except TimeoutError:
                    raise self._refusal(max(self._seconds(place) - self.longest_wait, 1.0)) from None
            self._is_busy = True
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            yield
            # Less is a text that another request had embedded.
            if (seconds := clock() - started) > _LEAST_SECONDS:
                self.speed += _SHARE_OF_LAST * (characters / seconds - self.speed)
        finally:
            place.left -= characters
            async with self._changed:
                self._is_busy = False
                self._changed.notify_all()

    def _may_embed(self, place: QueuedRequest) -> bool:
        return not self._is_busy and place == min(self._places)

    def _has_others(self, place: QueuedRequest) -> bool:
        return any(other < place for other in self._places)

    def _seconds(self, place: QueuedRequest) -> float:
        """Returns after how many seconds a request is answered, by what is before it."""
        ahead = sum(other.left for other in self._places if other < place)
        return (ahead + place.left) / max(self.speed, 1.0)

    def _refusal(self, seconds: float) -> Refused:
        """Returns the refusal of a request that would wait for too long, as OpenAI words it."""
        limit, seconds = len(self._places), math.ceil(seconds)
        return Refused(
            f"Rate limit reached on waiting requests: Limit {limit}. Please try again in {seconds:.3f}s.",
            parameter=None,
            status=429,
            type="queue",
            code="rate_limit_exceeded",
            # As the service sends both.
            headers={"retry-after": str(seconds), "retry-after-ms": str(seconds * 1000)},
        )
