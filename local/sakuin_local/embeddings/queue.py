"""The queue of requests that wait for the model: questions first, then pages, then Tables."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from sakuin_local.embeddings.refused import Refused

# A request that waits for longer is refused: a client waits for 30 seconds. It shall come again after half of this.
LONGEST_WAIT = 20.0

Turn = Callable[[], AbstractAsyncContextManager[None]]


@dataclass
class RequestQueue:
    """The requests that are not answered, by urgency and arrival.

    One has the model until it is done, but a more urgent one comes before its next part.
    """

    longest_wait: float = LONGEST_WAIT
    places: list[tuple[int, int]] = field(default_factory=list)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _is_busy: bool = False

    @asynccontextmanager
    async def place(self, urgency: int) -> AsyncIterator[Turn]:
        """Gives a request its place while the block runs; yields what waits for its turn."""
        place = urgency, next(self._numbers)
        self.places.append(place)
        try:
            yield partial(self._turn, place, asyncio.get_running_loop().time() + self.longest_wait)
        finally:
            self.places.remove(place)
            await self._notify()

    @asynccontextmanager
    async def _turn(self, place: tuple[int, int], until: float) -> AsyncIterator[None]:
        """Waits until the model is free for the next part of a request; raises `Refused` if that takes too long."""
        try:
            async with asyncio.timeout_at(until), self._changed:
                await self._changed.wait_for(lambda: not self._is_busy and place == min(self.places))
                self._is_busy = True
        except TimeoutError:
            raise self._refusal() from None
        try:
            yield
        finally:
            self._is_busy = False
            await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _refusal(self) -> Refused:
        """Returns the refusal of a request that waited for too long, as OpenAI words it."""
        seconds = self.longest_wait / 2
        said = f"Rate limit reached on waiting requests: Limit {len(self.places)}. Please try again in {seconds:.3f}s."
        # As the service sends both.
        headers = {"retry-after": f"{seconds:.0f}", "retry-after-ms": f"{seconds * 1000:.0f}"}
        return Refused(said, status=429, code="rate_limit_exceeded", headers=headers)
