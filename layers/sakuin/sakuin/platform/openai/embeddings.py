"""Embeddings of texts and questions by OpenAI, and what its errors mean."""

import base64
import json
import math
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import httpx2

from sakuin.errors import Invalid, RateLimited, Refused, SakuinError, Unavailable
from sakuin.platform.calls import LONGEST_CALL, Ask, background, retry_after
from sakuin.platform.embedding import EmbeddingModel, Vector, requests
from sakuin.texts.catalogue import coded

VENDOR = "openai"
NOT_UNDERSTOOD = "The embedding service's answer could not be read"

_BUSY = {408, 409}
_RATE_LIMITED = 429
# If the answer names no time.
_WAIT_SECONDS = 20.0
_CONNECT_SECONDS = 2.0
# No vendor answers within less.
_LEAST_SECONDS = 0.05
# A wrong key, address or model, an open bill, a missing right: no text is the reason.
_REFUSED = {401, 402, 403, 404}
# https://developers.openai.com/api/docs/guides/error-codes: these come with the status 429, like a rate limit.
_UNPAID = {"insufficient_quota", "billing_not_active", "billing_hard_limit_reached"}


def status_error(
    status: int, headers: Mapping[str, str], body: object = None, *, service: str = "embedding service"
) -> SakuinError:
    """Returns our error for a status. `body` is the JSON of the answer, None if it has none."""
    if _codes(body) & _UNPAID:
        return Refused(coded("vendor.unpaid", service=service, status=status), vendor=VENDOR)
    if status == _RATE_LIMITED:
        what = "embeddings" if service == "embedding service" else f"the {service}"
        seconds = retry_after(headers)
        return RateLimited(what, vendor=VENDOR, retry_after=_WAIT_SECONDS if seconds is None else seconds)
    if status in _BUSY or status >= 500:
        return Unavailable(
            coded("vendor.answered", service=service, status=status), vendor=VENDOR, retry_after=retry_after(headers)
        )
    if status in _REFUSED:
        model = "EMBEDDING_MODEL" if service == "embedding service" else "LearnsModel"
        return Refused(coded("vendor.refused", service=service, status=status, model=model), vendor=VENDOR)
    return Invalid(coded("vendor.refused_request", service=service, status=status))


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


@dataclass(frozen=True, slots=True)
class OpenAIEmbedder:
    """An `Embedder` over OpenAI's API, without OpenAI's SDK, which takes a third of a cold start to load.

    An attempt takes at most `seconds`, all attempts of a call `all_seconds`. `require_budget` is called before texts,
    and not questions, are embedded; `on_tokens` receives the tokens that each answer cost.
    """

    session: httpx2.Client
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

    def query(self, text: str) -> Vector:
        return self._embed([self.model.query_prefix + text])[0]

    def _embed(self, texts: Sequence[str]) -> list[Vector]:
        model = {"model": self.model.name, "dimensions": self.model.dimensions}
        request = json.dumps({**model, "input": texts, "encoding_format": "base64"}, ensure_ascii=False)
        try:
            content = request.encode()
        except UnicodeEncodeError as error:
            raise Invalid("The text is not valid Unicode: it has a lone surrogate") from error
        until = self.clock() + self.all_seconds
        return self.ask(lambda: self._create(content, len(texts), min(self.clock() + self.seconds, until)))

    def _create(self, content: bytes, texts: int, deadline: float) -> list[Vector]:
        try:
            answer = json.loads(self._body(content, deadline))
            # Tokens are paid for even if the vectors are unusable.
            if tokens := int(answer.get("usage", {}).get("total_tokens", 0)):
                self.on_tokens(tokens)
            items = [(item["index"], _numbers(item["embedding"])) for item in answer["data"]]
            return in_order(items, texts=texts, dimensions=self.model.dimensions)
        except httpx2.HTTPError as error:
            raise Unavailable(coded("vendor.embedding_silent"), vendor=VENDOR) from error
        except (ValueError, LookupError, TypeError, AttributeError, struct.error) as error:
            # A proxy's page, an incomplete answer, an error with the status 200.
            raise Unavailable(NOT_UNDERSTOOD, vendor=VENDOR) from error

    def _body(self, content: bytes, deadline: float) -> bytes:
        """Returns the body of a successful answer that is complete before the deadline."""
        timeout = self._timeout(deadline)
        with self.session.stream("POST", "/embeddings", content=content, timeout=timeout) as answer:
            if not answer.is_success:
                raise status_error(answer.status_code, answer.headers, self._error(answer, deadline))
            return self._read(answer, deadline)

    def _error(self, answer: httpx2.Response, deadline: float) -> object:
        """Returns the JSON of an error, None if it does not arrive."""
        try:
            return json.loads(self._read(answer, deadline))
        except (httpx2.HTTPError, Unavailable, ValueError):
            return None

    def _read(self, answer: httpx2.Response, deadline: float) -> bytes:
        parts = []
        for part in answer.iter_bytes():
            parts.append(part)
            # The client's own timeout starts again with every byte.
            self._timeout(deadline)
        return b"".join(parts)

    def _timeout(self, deadline: float) -> httpx2.Timeout:
        left = deadline - self.clock()
        if left < _LEAST_SECONDS:
            seconds = min(self.seconds, self.all_seconds)
            raise Unavailable(coded("vendor.slow", seconds=f"{seconds:g}"), vendor=VENDOR)
        return httpx2.Timeout(left, connect=min(_CONNECT_SECONDS, left))


def _numbers(embedding: str | Sequence[float]) -> Vector:
    """Returns the numbers of a vector, which endpoints may give as base64 or as a list."""
    if isinstance(embedding, str):
        content = base64.b64decode(embedding, validate=True)
        return struct.unpack(f"<{len(content) // 4}f", content)
    return [float(number) for number in embedding]


def connected(base_url: str, key: str, *, urgency: int | None = None) -> httpx2.Client:
    """Returns a session with an endpoint of OpenAI's API. It connects at its first request.

    An endpoint with a queue takes requests by their urgency: 0 first, 7 last, 3 by default (RFC 9218). OpenAI ignores
    it.
    """
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    priority = {} if urgency is None else {"Priority": f"u={urgency}"}
    return httpx2.Client(base_url=base_url, headers=headers | priority)
