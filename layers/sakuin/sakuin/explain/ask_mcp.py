"""What the function `api` asks the function `mcp`: explanations of searches, and the answers that agents get.

`api` cannot search. It invokes `mcp` with an event: AWS checks that it may, `api` has checked who asks.
"""

import json
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from sakuin.arguments import Folder, Name, OwnFields, Query, TopK, Type, sentence
from sakuin.errors import Invalid, NotFound, OverLimit, SakuinError, Unavailable
from sakuin.language.model import Rule
from sakuin.platform.aws import LambdaFunction
from sakuin.platform.http_errors import http_error
from sakuin.retrieval.vectors import SearchMode
from sakuin.texts.catalogue import restored, stored

# The member of the event. Events of the gateway have no such member.
EXPLANATION = "explanation"


class FiltersAsked(BaseModel):
    """The filters of `search_knowledge`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Type = None
    category: Name | None = None
    level: Name | None = None
    language: Name | None = None
    filter: OwnFields = None
    material: Name | None = None
    folder: Folder = None


class ExplanationAsked(BaseModel):
    """A question and its options. With `tool` it is for a Search Tool of the endpoint `mcp_id`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    query: Query
    expected: (
        Annotated[str, Field(max_length=2000), AfterValidator(lambda id: unicodedata.normalize("NFC", id))] | None
    ) = None
    top_k: TopK = 5
    depth: TopK = 10
    filters: FiltersAsked = FiltersAsked()
    legs: SearchMode = "both"
    without: Annotated[frozenset[Rule], Field(max_length=20)] = frozenset()
    tool: Name | None = None
    mcp_id: Name | None = None
    # A fingerprint, its beginning, or "next"; without it the active index version.
    index: Name | None = None

    @property
    def shown(self) -> int:
        """How many of the best chunks are explained."""
        return max(self.top_k, self.depth)


def question_of(fields: Mapping[str, Any]) -> ExplanationAsked:
    """Returns the question in these fields; raises `Invalid` with the sentence that an agent gets."""
    try:
        return ExplanationAsked.model_validate(fields)
    except ValidationError as error:
        raise sentence(error) from error


@dataclass(frozen=True, slots=True)
class AskMcp:
    """Asks the function `mcp`. Raises `NotFound`, `Invalid`, `OverLimit`, `Unavailable`."""

    function: LambdaFunction

    def __call__(
        self, asked: ExplanationAsked, *, payer: str | None = None, language: str = "en", with_answer: bool = False
    ) -> dict[str, Any]:
        """Returns the JSON of a `SearchExplanation`, whose reasons are in `language`.

        `payer` is whose limit counts the question, with those of agents; None: it counts for nobody. `with_answer`: the
        member `answer` is the answer that an agent gets: {structured, text, is_error, size, milliseconds}. `structured`
        is None for an error, `size` the number of bytes of both in the agent's JSON.
        """
        question = asked.model_dump(mode="json", by_alias=True)
        event = {"asked": question, "payer": payer, "language": language, "with_answer": with_answer}
        answer = self.function.invoke({EXPLANATION: event})
        if answer.get("statusCode") != 200:
            raise Unavailable("The search failed; the log of the function mcp says why", vendor="lambda")
        body: dict[str, Any] = json.loads(answer["body"])
        if (status := body.get("error")) is not None:
            raise _error(status, restored(body["message"]), body["retry_after"])
        return body


def _error(status: int, message: str, retry_after: float | None) -> SakuinError:
    """Returns an error by the status that it has over HTTP."""
    match status:
        case 404:
            return NotFound(message)
        case 422:
            return Invalid(message)
        case 429:
            return OverLimit(message, retry_after=retry_after or 0.0)
        case _:
            return Unavailable(message, retry_after=retry_after)


def answer_event(answers: Mapping[str, Callable[[Any], dict[str, Any]]], event: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer of `mcp` to such an event, or the error, as `AskMcp` reads them."""
    (name,) = answers.keys() & event.keys()
    try:
        body = answers[name](event[name])
    except SakuinError as error:
        retry_after = getattr(error, "retry_after", None)
        body = {"error": http_error(error, {}).status, "message": stored(str(error)), "retry_after": retry_after}
    return {"statusCode": 200, "body": json.dumps(body)}
