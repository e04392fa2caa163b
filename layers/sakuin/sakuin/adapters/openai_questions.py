"""The embedding of a question over OpenAI's API, without OpenAI's SDK: loading that takes a third of a cold start."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from sakuin.domain.recipe import EmbeddingModel
from sakuin.errors import Invalid, Unavailable
from sakuin.ports.embedding import Vector

# An agent waits, and API Gateway waits 30 s at most: all tries together take less.
_TIMEOUT = httpx.Timeout(8.0, connect=3.0)
_TRIES = 2
_PAUSE_SECONDS = 0.3
_LONGEST_PAUSE_SECONDS = 2.0
_RETRIED = {408, 409, 429}


@dataclass(frozen=True, slots=True)
class OpenAIQuestions:
    """A `QuestionEmbedder`. It asks twice, and honours a short Retry-After; `used` is told each answer's tokens."""

    session: httpx.Client
    model: EmbeddingModel
    used: Callable[[int], None] = lambda _tokens: None

    def query(self, text: str) -> Vector:
        asked = {
            "model": self.model.name,
            "input": [self.model.query_prefix + text],
            "dimensions": self.model.dimensions,
            "encoding_format": "float",
        }
        answer = self._answered(json.dumps(asked))
        try:
            said = answer.json()
            vector = [float(number) for number in said["data"][0]["embedding"]]
            tokens = int(said.get("usage", {}).get("total_tokens", 0))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise Unavailable("The embedding service's answer was not understood") from error
        if tokens:
            self.used(tokens)
        if len(vector) != self.model.dimensions:
            raise Unavailable(f"The embedding service did not give a vector of {self.model.dimensions}")
        return vector

    def _answered(self, asked: str) -> httpx.Response:
        for more in reversed(range(_TRIES)):
            try:
                answer = self.session.post("/embeddings", content=asked)
            except httpx.HTTPError as error:
                if not more:
                    raise Unavailable("The embedding service did not answer") from error
                time.sleep(_PAUSE_SECONDS)
                continue
            if answer.is_success:
                return answer
            if answer.status_code not in _RETRIED and answer.status_code < 500:
                raise Invalid(f"The embedding service refused the request with {answer.status_code}")
            if more:
                time.sleep(_pause(answer.headers))
        raise Unavailable(f"The embedding service answered {answer.status_code}")


def connected(base_url: str, key: str) -> httpx.Client:
    """A session with OpenAI, or with what speaks its API; it connects with the first request."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    return httpx.Client(base_url=base_url, headers=headers, timeout=_TIMEOUT)


def _pause(headers: Mapping[str, Any]) -> float:
    """The seconds that the service asks for, in either of its two headers, if they are few."""
    try:
        asked = float(headers.get("retry-after-ms", "")) / 1000
    except ValueError:
        try:
            asked = float(headers.get("retry-after", ""))
        except ValueError:
            asked = _PAUSE_SECONDS
    return min(max(asked, 0.0), _LONGEST_PAUSE_SECONDS)
