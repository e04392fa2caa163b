"""What the function `api` asks the function `mcp`: the playground of the console, and explanations.

`api` cannot search. It invokes `mcp` with an event: AWS checks that it may, `api` has checked who asks.
"""

import json
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from sakuin.arguments import Folder, Name, Query, TopK, Type
from sakuin.errors import Invalid, NotFound, OverLimit, SakuinError, Unavailable
from sakuin.language.model import Rule
from sakuin.platform.aws import LambdaFunction
from sakuin.platform.http_errors import http_error
from sakuin.retrieval.vectors import SearchMode

# The member of the event. Events of the gateway have no such members.
PLAYGROUND, EXPLANATION = "playground", "explanation"


class FiltersAsked(BaseModel):
    """The filters of `search_knowledge`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Type = None
    category: Name | None = None
    level: Name | None = None
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


@dataclass(frozen=True, slots=True)
class PlaygroundQuestion:
    """The arguments of a search, as an agent sends them.

    It is for `search_knowledge`, or with `tool_id` for a Tool of the endpoint `mcp_id`. `expected` is a chunk (its id
    or link) or a node (its json_pointer) of which the answer says in `language` why it is or is not in the results.
    `user_id` is the user who asks, for the limit of searches of the library; None is an admin.
    """

    arguments: Mapping[str, Any]
    mcp_id: str | None = None
    tool_id: str | None = None
    expected: str | None = None
    language: str = "en"
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class PlaygroundAnswer:
    """An answer as an agent gets it.

    `structured` is the structured content, None for an error (`is_error`); `text` the text content. `size` is the
    number of bytes of both in the agent's JSON, `milliseconds` the time that the search took. `explanation` is the JSON
    of a `SearchExplanation`; without it `problem` says why there is none.
    """

    structured: Mapping[str, Any] | None
    text: str
    is_error: bool
    size: int
    milliseconds: float
    explanation: Mapping[str, Any] | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class AskMcp:
    """Asks the function `mcp`. Raises `NotFound`, `Invalid`, `OverLimit`, `Unavailable`."""

    function: LambdaFunction

    def playground(self, asked: PlaygroundQuestion) -> PlaygroundAnswer:
        """Returns the answer. A wrong argument is no exception: an agent gets an answer that says so."""
        return PlaygroundAnswer(**self._ask(PLAYGROUND, asdict(asked)))

    def explanation(self, asked: ExplanationAsked) -> dict[str, Any]:
        """Returns the JSON of a `SearchExplanation`."""
        return self._ask(EXPLANATION, asked.model_dump(mode="json", by_alias=True))

    def _ask(self, name: str, value: Mapping[str, Any]) -> dict[str, Any]:
        answer = self.function.invoke({name: value})
        if answer.get("statusCode") != 200:
            raise Unavailable("The search failed; the log of the function mcp says why", vendor="lambda")
        body: dict[str, Any] = json.loads(answer["body"])
        if (status := body.get("error")) is not None:
            raise _error(status, body["message"], body["retry_after"])
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
        body = {"error": http_error(error, {}).status, "message": str(error), "retry_after": retry_after}
    return {"statusCode": 200, "body": json.dumps(body)}
