"""The embedding of a question over OpenAI's API, without OpenAI's SDK: loading that takes a third of a cold start."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import httpx

from sakuin.errors import Unavailable
from sakuin.platform.calls import Ask, interactive
from sakuin.platform.embedding import EmbeddingModel, Vector
from sakuin.platform.openai.embeddings import NO_ANSWER, NOT_UNDERSTOOD, VENDOR, in_order, refusal

# An agent waits, and words alone answer too: all tries together, with their pauses, take no longer.
_SECONDS = 5.0

_CONNECT_SECONDS = 2.0

# Too little to be answered in.
_LEAST_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class OpenAIQuestions:
    """A `QuestionEmbedder` that gives up after `seconds`. `used` is told each answer's tokens."""

    session: httpx.Client
    model: EmbeddingModel
    used: Callable[[int], None] = lambda _tokens: None
    ask: Ask = field(default_factory=lambda: interactive(tries=2))
    seconds: float = _SECONDS
    clock: Callable[[], float] = time.monotonic

    def query(self, text: str) -> Vector:
        asked = {
            "model": self.model.name,
            "input": [self.model.query_prefix + text],
            "dimensions": self.model.dimensions,
            "encoding_format": "float",
        }
        return self.ask(partial(self._answered, json.dumps(asked), self.clock() + self.seconds))

    def _answered(self, asked: str, deadline: float) -> Vector:
        try:
            said = json.loads(self._body(asked, deadline))
            if tokens := int(said.get("usage", {}).get("total_tokens", 0)):
                self.used(tokens)
            items = [(item["index"], [float(number) for number in item["embedding"]]) for item in said["data"]]
            return in_order(items, texts=1, dimensions=self.model.dimensions)[0]
        except httpx.HTTPError as error:
            raise Unavailable(NO_ANSWER, vendor=VENDOR) from error
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise Unavailable(NOT_UNDERSTOOD, vendor=VENDOR) from error

    def _body(self, asked: str, deadline: float) -> bytes:
        """The body of a good answer that is whole before the deadline."""
        with self.session.stream("POST", "/embeddings", content=asked, timeout=self._timeout(deadline)) as answer:
            if not answer.is_success:
                raise refusal(answer.status_code, answer.headers, self._said(answer, deadline))
            return self._whole(answer, deadline)

    def _said(self, answer: httpx.Response, deadline: float) -> object:
        """What a refusal says, if that arrives: its status says most of it."""
        try:
            return json.loads(self._whole(answer, deadline))
        except (httpx.HTTPError, Unavailable, ValueError):
            return None

    def _whole(self, answer: httpx.Response, deadline: float) -> bytes:
        parts = []
        for part in answer.iter_bytes():
            parts.append(part)
            # The client's own timeout begins anew with every byte.
            self._timeout(deadline)
        return b"".join(parts)

    def _timeout(self, deadline: float) -> httpx.Timeout:
        left = deadline - self.clock()
        if left < _LEAST_SECONDS:
            raise Unavailable(f"The embedding service took longer than {self.seconds:g} seconds", vendor=VENDOR)
        return httpx.Timeout(left, connect=min(_CONNECT_SECONDS, left))


def connected(base_url: str, key: str) -> httpx.Client:
    """A session with OpenAI, or with what speaks its API; it connects with the first request."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    return httpx.Client(base_url=base_url, headers=headers, timeout=_SECONDS)
