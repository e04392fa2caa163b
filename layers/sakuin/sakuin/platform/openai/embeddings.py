"""Embeddings of texts and questions by OpenAI, or an endpoint with its API."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from openai import APIConnectionError, APIStatusError, OpenAIError, Timeout

from sakuin.errors import Invalid, Unavailable
from sakuin.platform.calls import LONGEST_CALL, Ask, background
from sakuin.platform.embedding import EmbeddingModel, Vector, requests
from sakuin.platform.openai.client import VENDOR, status_error
from sakuin.texts.catalogue import coded

if TYPE_CHECKING:
    from openai.resources import Embeddings

NOT_UNDERSTOOD = "The embedding service's answer could not be read"
_CONNECT_SECONDS = 2.0
# No vendor answers within less.
_LEAST_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class OpenAIEmbedder:
    """An `Embedder` over the `embeddings` of OpenAI's client.

    An attempt takes at most `seconds`, all attempts of a call `all_seconds`. `require_budget` is called before
    anything is embedded; `on_tokens` receives the tokens that each answer cost.
    """

    embeddings: "Embeddings"
    model: EmbeddingModel
    on_tokens: Callable[[int], None] = lambda _tokens: None
    ask: Ask = field(default_factory=lambda: background(attempts=3))
    seconds: float = LONGEST_CALL
    all_seconds: float = math.inf
    clock: Callable[[], float] = time.monotonic
    require_budget: Callable[[], None] = lambda: None

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        if texts:
            self.require_budget()
        vectors: list[Vector] = []
        for request in requests([self.model.passage_prefix + text for text in texts]):
            vectors += self._embed(request)
        return vectors

    def questions(self, texts: Sequence[str]) -> list[Vector]:
        self.require_budget()
        return self._embed([self.model.query_prefix + text for text in texts])

    def _embed(self, texts: list[str]) -> list[Vector]:
        until = self.clock() + self.all_seconds
        return self.ask(lambda: self._create(texts, min(self.clock() + self.seconds, until)))

    def _create(self, texts: list[str], deadline: float) -> list[Vector]:
        model = self.model
        try:
            answer = self.embeddings.create(
                input=texts, model=model.name, dimensions=model.dimensions, timeout=self._timeout(deadline)
            )
            # Tokens are paid for even if the vectors are unusable. Some endpoints do not count them.
            if tokens := getattr(getattr(answer, "usage", None), "total_tokens", None):
                self.on_tokens(tokens)
            items = [(item.index, item.embedding) for item in answer.data]
            return in_order(items, texts=len(texts), dimensions=model.dimensions)
        except APIStatusError as error:
            raise status_error(error.status_code, error.response.headers, error.body) from error
        except APIConnectionError as error:
            raise Unavailable(coded("vendor.embedding_silent"), vendor=VENDOR) from error
        except UnicodeEncodeError as error:
            raise Invalid("The text is not valid Unicode: it has a lone surrogate") from error
        except (OpenAIError, ValueError, LookupError, TypeError, AttributeError) as error:
            # A proxy's page, an incomplete answer, an error with the status 200.
            raise Unavailable(NOT_UNDERSTOOD, vendor=VENDOR) from error

    def _timeout(self, deadline: float) -> Timeout:
        left = deadline - self.clock()
        if left < _LEAST_SECONDS:
            seconds = min(self.seconds, self.all_seconds)
            raise Unavailable(coded("vendor.slow", seconds=f"{seconds:g}"), vendor=VENDOR)
        return Timeout(left, connect=min(_CONNECT_SECONDS, left))


def in_order(items: Sequence[tuple[int, Vector]], *, texts: int, dimensions: int) -> list[Vector]:
    """Returns the vectors of `(index, vector)` in the order of the texts; `Unavailable` unless each has a valid one.

    OpenAI promises an index, not an order.
    """
    vectors = dict(items)
    if len(items) != texts or vectors.keys() != set(range(texts)):
        raise _unusable("few_vectors")
    for vector in vectors.values():
        if len(vector) != dimensions:
            raise _unusable("other_size", found=len(vector), wanted=dimensions)
        if not all(map(math.isfinite, vector)):
            raise _unusable("not_finite")
        if not any(vector):
            raise _unusable("zeros")
    return [vectors[index] for index in range(texts)]


def _unusable(code: str, **values: object) -> Unavailable:
    return Unavailable(coded(f"vendor.{code}", **values), vendor=VENDOR)
