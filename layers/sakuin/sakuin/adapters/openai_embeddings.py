"""Embeddings over OpenAI's API."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from openai import APIConnectionError, APIStatusError, OpenAI, OpenAIError

from sakuin.adapters.openai_answers import NO_ANSWER, NOT_UNDERSTOOD, VENDOR, in_order, refusal
from sakuin.domain.embedding_requests import requests
from sakuin.domain.recipe import EmbeddingModel
from sakuin.errors import Invalid, Unavailable
from sakuin.platform.calls import Ask, background
from sakuin.ports.embedding import Vector


@dataclass(frozen=True, slots=True)
class OpenAIEmbedder:
    """An `Embedder`. `used` is told how many tokens each answer cost.

    The client's own retries are left out: they know no budget, and sleep for up to two minutes inside a function.
    """

    client: OpenAI
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
