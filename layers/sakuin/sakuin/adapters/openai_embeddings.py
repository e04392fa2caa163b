"""Embeddings over OpenAI's API."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from openai import APIConnectionError, APIStatusError, OpenAI

from sakuin.domain.recipe import EmbeddingModel
from sakuin.errors import Invalid, Unavailable
from sakuin.ports.embedding import Vector

# OpenAI takes at most 2,048 texts and 300,000 tokens a request; a Japanese character is about one token. Less is
# asked for at once, so that a slow endpoint answers before the request is given up and asked for again.
_MAX_TEXTS = 64
_MAX_CHARACTERS = 40_000
_RETRIED = {408, 409, 429}


@dataclass(frozen=True, slots=True)
class OpenAIEmbedder:
    """An `Embedder`. The client retries with backoff and jitter and honours Retry-After.

    `used` is told how many tokens each answer cost.
    """

    client: OpenAI
    model: EmbeddingModel
    used: Callable[[int], None] = lambda _tokens: None

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for batch in _batches([self.model.passage_prefix + text for text in texts]):
            vectors += self._embed(batch)
        return vectors

    def query(self, text: str) -> Vector:
        return self._embed([self.model.query_prefix + text])[0]

    def _embed(self, texts: list[str]) -> list[Vector]:
        try:
            answer = self.client.embeddings.create(model=self.model.name, input=texts, dimensions=self.model.dimensions)
        except APIConnectionError as error:
            raise Unavailable("The embedding service did not answer") from error
        except APIStatusError as error:
            if error.status_code in _RETRIED or error.status_code >= 500:
                raise Unavailable(f"The embedding service answered {error.status_code}") from error
            raise Invalid(f"The embedding service refused the request with {error.status_code}") from error
        if tokens := getattr(answer.usage, "total_tokens", 0):
            self.used(tokens)
        # The SDK does not sort the answer.
        vectors: list[Vector] = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
        if len(vectors) != len(texts) or any(len(vector) != self.model.dimensions for vector in vectors):
            raise Unavailable(f"The embedding service did not give {len(texts)} vectors of {self.model.dimensions}")
        return vectors


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and (len(batch) == _MAX_TEXTS or characters + len(text) > _MAX_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch
