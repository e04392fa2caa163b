"""The embedding of a question over OpenAI's API without OpenAI's SDK, which takes a third of a cold start to load."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import httpx

from sakuin.errors import Unavailable
from sakuin.platform.calls import Ask, interactive
from sakuin.platform.embedding import EmbeddingModel, Vector
from sakuin.platform.openai.embeddings import NO_ANSWER, NOT_UNDERSTOOD, VENDOR, in_order, status_error

# For all attempts together: an agent waits, and a search by words alone needs no vector.
_SECONDS = 5.0
_CONNECT_SECONDS = 2.0
# No vendor answers within less.
_LEAST_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class OpenAIQuestions:
    """A `QuestionEmbedder` whose attempts together take at most `seconds`. `on_tokens` gets the tokens of each."""

    session: httpx.Client
    model: EmbeddingModel
    on_tokens: Callable[[int], None] = lambda _tokens: None
    ask: Ask = field(default_factory=lambda: interactive(attempts=2))
    seconds: float = _SECONDS
    clock: Callable[[], float] = time.monotonic

    def query(self, text: str) -> Vector:
        request = {
            "model": self.model.name,
            "input": [self.model.query_prefix + text],
            "dimensions": self.model.dimensions,
            "encoding_format": "float",
        }
        return self.ask(partial(self._create, json.dumps(request), self.clock() + self.seconds))

    def _create(self, request: str, deadline: float) -> Vector:
        try:
            answer = json.loads(self._body(request, deadline))
            if tokens := int(answer.get("usage", {}).get("total_tokens", 0)):
                self.on_tokens(tokens)
            items = [(item["index"], [float(number) for number in item["embedding"]]) for item in answer["data"]]
            return in_order(items, texts=1, dimensions=self.model.dimensions)[0]
        except httpx.HTTPError as error:
            raise Unavailable(NO_ANSWER, vendor=VENDOR) from error
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise Unavailable(NOT_UNDERSTOOD, vendor=VENDOR) from error

    def _body(self, request: str, deadline: float) -> bytes:
        """Returns the body of a successful answer that is complete before the deadline."""
        with self.session.stream("POST", "/embeddings", content=request, timeout=self._timeout(deadline)) as answer:
            if not answer.is_success:
                raise status_error(answer.status_code, answer.headers, self._error(answer, deadline))
            return self._read(answer, deadline)

    def _error(self, answer: httpx.Response, deadline: float) -> object:
        """Returns the JSON of an error, None if it does not arrive."""
        try:
            return json.loads(self._read(answer, deadline))
        except (httpx.HTTPError, Unavailable, ValueError):
            return None

    def _read(self, answer: httpx.Response, deadline: float) -> bytes:
        parts = []
        for part in answer.iter_bytes():
            parts.append(part)
            # The client's own timeout starts again with every byte.
            self._timeout(deadline)
        return b"".join(parts)

    def _timeout(self, deadline: float) -> httpx.Timeout:
        left = deadline - self.clock()
        if left < _LEAST_SECONDS:
            raise Unavailable(f"The embedding service took longer than {self.seconds:g} seconds", vendor=VENDOR)
        return httpx.Timeout(left, connect=min(_CONNECT_SECONDS, left))


def connected(base_url: str, key: str) -> httpx.Client:
    """Returns a session with an endpoint of OpenAI's API. It connects at its first request."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    return httpx.Client(base_url=base_url, headers=headers, timeout=_SECONDS)
