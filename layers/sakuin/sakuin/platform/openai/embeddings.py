"""Embeddings of texts by OpenAI."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sakuin.errors import Invalid, Refused, SakuinError, Unavailable
from sakuin.platform.calls import Ask, background, retry_after
from sakuin.platform.embedding import EmbeddingModel, Vector, requests

if TYPE_CHECKING:
    # The function that answers questions uses `refusal` and `in_order`, and must not load the SDK.
    from openai import OpenAI

VENDOR = "openai"

NO_ANSWER = "The embedding service did not answer"

NOT_UNDERSTOOD = "The embedding service's answer was not understood"


_BUSY = {408, 409, 429}

# The key, the bill, what the account may do, the address or the model: no text is to blame.
_REFUSED = {401, 402, 403, 404}

# https://developers.openai.com/api/docs/guides/error-codes: one of them comes as 429, as if it were about haste.
_UNPAID = {"insufficient_quota", "billing_not_active", "billing_hard_limit_reached"}


def refusal(status: int, headers: Mapping[str, str], said: object = None) -> SakuinError:
    """The error that a status is. `said` is the answer's body as JSON, if it was any."""
    if _codes(said) & _UNPAID:
        return Refused(
            f"The embedding service refused with {status}: the account's quota is used up or a bill is open, see "
            "platform.openai.com/settings/organization/billing",
            vendor=VENDOR,
        )
    if status in _BUSY or status >= 500:
        return Unavailable(f"The embedding service answered {status}", vendor=VENDOR, retry_after=retry_after(headers))
    if status in _REFUSED:
        return Refused(
            f"The embedding service refused with {status}: check openai_api_key in the secret, OPENAI_BASE_URL and "
            "EMBEDDING_MODEL",
            vendor=VENDOR,
        )
    return Invalid(f"The embedding service refused the request with {status}")


def _codes(said: object) -> set[object]:
    """What an error calls itself. The SDK hands over the error alone, the wire has it in an object."""
    error = said.get("error", said) if isinstance(said, Mapping) else None
    if not isinstance(error, Mapping):
        return set()
    return {code for code in (error.get("code"), error.get("type")) if isinstance(code, str)}


def in_order(items: Sequence[tuple[int, Vector]], *, texts: int, dimensions: int) -> list[Vector]:
    """The vectors of `(index, vector)` in the order of the texts; `Unavailable` unless each text has one to use.

    OpenAI promises an index, not an order.
    """
    vectors = dict(items)
    if len(items) != texts or vectors.keys() != set(range(texts)):
        raise _useless(f"did not give {texts} vectors, one for each text")
    for vector in vectors.values():
        if len(vector) != dimensions:
            raise _useless(f"gave a vector of {len(vector)} numbers instead of {dimensions}")
        if not all(map(math.isfinite, vector)):
            raise _useless("gave a vector with a number that is none")
        if not any(vector):
            raise _useless("gave a vector of zeros, which has no direction")
    return [vectors[place] for place in range(texts)]


def _useless(what: str) -> Unavailable:
    return Unavailable(f"The embedding service {what}", vendor=VENDOR)


@dataclass(frozen=True, slots=True)
class OpenAIEmbedder:
    """An `Embedder`. `used` is told how many tokens each answer cost.

    The client's own retries are left out: they know no budget, and sleep for up to two minutes inside a function.
    """

    client: "OpenAI"
    model: EmbeddingModel
    used: Callable[[int], None] = lambda _tokens: None
    ask: Ask = field(default_factory=lambda: background(tries=3))

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for request in requests([self.model.passage_prefix + text for text in texts]):
            vectors += self._embed(request)
        return vectors

    def query(self, text: str) -> Vector:
        return self._embed([self.model.query_prefix + text])[0]

    def _embed(self, texts: list[str]) -> list[Vector]:
        return self.ask(lambda: self._answered(texts))

    def _answered(self, texts: list[str]) -> list[Vector]:
        from openai import APIConnectionError, APIStatusError, OpenAIError

        try:
            answer = self.client.with_options(max_retries=0).embeddings.create(
                model=self.model.name, input=texts, dimensions=self.model.dimensions
            )
            # What was paid for is counted, whatever the vectors are worth.
            if tokens := getattr(answer.usage, "total_tokens", None):
                self.used(int(tokens))
            items = [(item.index, item.embedding) for item in answer.data]
            return in_order(items, texts=len(texts), dimensions=self.model.dimensions)
        except APIConnectionError as error:
            raise Unavailable(NO_ANSWER, vendor=VENDOR) from error
        except APIStatusError as error:
            raise refusal(error.status_code, error.response.headers, error.body) from error
        except UnicodeEncodeError as error:
            raise Invalid("The text is no Unicode: it holds half a character") from error
        except (OpenAIError, ValueError, TypeError, AttributeError) as error:
            # A proxy's page, half an answer, an error with a status of 200.
            raise Unavailable(NOT_UNDERSTOOD, vendor=VENDOR) from error
