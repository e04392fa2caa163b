"""The search playground of the console: a question, the answer as an agent gets it, and the explanation.

The function `api`, which has the console, cannot search. It invokes the function `mcp` with the question
(`answer_playground`). AWS checks that it may; `api` has checked who asks.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sakuin.errors import Invalid, NotFound, OverLimit, Unavailable
from sakuin.explain.sentences import Language
from sakuin.platform.aws import LambdaFunction

# The member of the event. Events of the gateway have no such member.
EVENT = "playground"

# By the status that they have over HTTP.
_ERRORS = {404: NotFound, 422: Invalid, 429: OverLimit}


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
    language: Language = "en"
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
class AskPlayground:
    """Asks the function `mcp`."""

    function: LambdaFunction

    def __call__(self, asked: PlaygroundQuestion) -> PlaygroundAnswer:
        """Returns the answer. Raises `NotFound` for a Tool that the endpoint does not have, `OverLimit`, `Unavailable`.

        A wrong argument is no exception: an agent gets an answer that says so.
        """
        event = {name: getattr(asked, name) for name in PlaygroundQuestion.__slots__}
        answer = self.function.invoke({EVENT: event})
        if answer.get("statusCode") != 200:
            raise Unavailable("The search failed; the log of the function mcp says why", vendor="lambda")
        body = json.loads(answer["body"])
        if (status := body.get("error")) is not None:
            raise _ERRORS.get(status, Unavailable)(body["message"])
        return PlaygroundAnswer(**body)
