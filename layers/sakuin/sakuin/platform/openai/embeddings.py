"""Embeddings of texts by OpenAI, with OpenAI's SDK."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sakuin.errors import Invalid, RateLimited, Refused, SakuinError, Unavailable
from sakuin.platform.calls import Ask, background, retry_after
from sakuin.platform.embedding import EmbeddingModel, Vector, requests

if TYPE_CHECKING:
    # The function `mcp` uses `status_error` and `in_order`, and must not load the SDK.
    from openai import OpenAI

VENDOR = "openai"
NO_ANSWER = "The embedding service did not answer"
NOT_UNDERSTOOD = "The embedding service's answer could not be read"

_BUSY = {408, 409}
_RATE_LIMITED = 429
# If the answer names no time.
_WAIT_SECONDS = 20.0
# A wrong key, address or model, an open bill, a missing right: no text is the reason.
_REFUSED = {401, 402, 403, 404}
# https://developers.openai.com/api/docs/guides/error-codes: these come with the status 429, like a rate limit.
_UNPAID = {"insufficient_quota", "billing_not_active", "billing_hard_limit_reached"}


def status_error(
    status: int, headers: Mapping[str, str], body: object = None, *, service: str = "embedding service"
) -> SakuinError:
    """Returns our error for a status. `body` is the JSON of the answer, None if it has none."""
    if _codes(body) & _UNPAID:
        return Refused(
            f"The {service} refused with {status}: the account has no credit, or a bill is open. Buy credit at "
            "platform.openai.com/settings/organization/billing",
            vendor=VENDOR,
        )
    if status == _RATE_LIMITED:
        what = "embeddings" if service == "embedding service" else f"the {service}"
        seconds = retry_after(headers)
        return RateLimited(what, vendor=VENDOR, retry_after=_WAIT_SECONDS if seconds is None else seconds)
    if status in _BUSY or status >= 500:
        return Unavailable(f"The {service} answered {status}", vendor=VENDOR, retry_after=retry_after(headers))
    if status in _REFUSED:
        model = "EMBEDDING_MODEL" if service == "embedding service" else "LearnsModel"
        return Refused(
            f"The {service} refused with {status}: check openai_api_key in the secret, OPENAI_BASE_URL and {model}",
            vendor=VENDOR,
        )
    return Invalid(f"The {service} refused the request with {status}")


def _codes(body: object) -> set[object]:
    """Returns the code and the type of an error. The SDK gives the error itself; HTTP has it in the member `error`."""
    error = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return set()
    return {code for code in (error.get("code"), error.get("type")) if isinstance(code, str)}


def in_order(items: Sequence[tuple[int, Vector]], *, texts: int, dimensions: int) -> list[Vector]:
    """Returns the vectors of `(index, vector)` in the order of the texts; `Unavailable` unless each has a valid one.

    OpenAI promises an index, not an order.
    """
    vectors = dict(items)
    if len(items) != texts or vectors.keys() != set(range(texts)):
        raise _unusable(f"did not return {texts} vectors, one for each text")
    for vector in vectors.values():
        if len(vector) != dimensions:
            raise _unusable(f"returned a vector of {len(vector)} numbers instead of {dimensions}")
        if not all(map(math.isfinite, vector)):
            raise _unusable("returned a vector with a value that is not a finite number")
        if not any(vector):
            raise _unusable("returned a vector of zeros")
    return [vectors[index] for index in range(texts)]


def _unusable(problem: str) -> Unavailable:
    return Unavailable(f"The embedding service {problem}", vendor=VENDOR)


@dataclass(frozen=True, slots=True)
class OpenAIEmbedder:
    """An `Embedder`. `on_tokens` receives the tokens that each answer cost.

    The SDK's own retries are off: they have no budget, and sleep for up to two minutes.
    """

    client: "OpenAI"
    model: EmbeddingModel
    on_tokens: Callable[[int], None] = lambda _tokens: None
    ask: Ask = field(default_factory=lambda: background(attempts=3))

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for request in requests([self.model.passage_prefix + text for text in texts]):
            vectors += self._embed(request)
        return vectors

    def query(self, text: str) -> Vector:
        return self._embed([self.model.query_prefix + text])[0]

    def _embed(self, texts: list[str]) -> list[Vector]:
        return self.ask(lambda: self._create(texts))

    def _create(self, texts: list[str]) -> list[Vector]:
        from openai import APIConnectionError, APIStatusError, OpenAIError

        try:
            answer = self.client.with_options(max_retries=0).embeddings.create(
                model=self.model.name, input=texts, dimensions=self.model.dimensions
            )
            # Tokens are paid for even if the vectors are unusable.
            if tokens := getattr(answer.usage, "total_tokens", None):
                self.on_tokens(int(tokens))
            items = [(item.index, item.embedding) for item in answer.data]
            return in_order(items, texts=len(texts), dimensions=self.model.dimensions)
        except APIConnectionError as error:
            raise Unavailable(NO_ANSWER, vendor=VENDOR) from error
        except APIStatusError as error:
            raise status_error(error.status_code, error.response.headers, error.body) from error
        except UnicodeEncodeError as error:
            raise Invalid("The text is not valid Unicode: it has a lone surrogate") from error
        except (OpenAIError, ValueError, TypeError, AttributeError) as error:
            # A proxy's page, an incomplete answer, an error with the status 200.
            raise Unavailable(NOT_UNDERSTOOD, vendor=VENDOR) from error
