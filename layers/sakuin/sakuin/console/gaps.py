"""The gaps of the library and of Tools, for the console's page and for REST, which needs nothing of the pages."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from sakuin.console.playground.places import Places
from sakuin.explain.ask_mcp import PlaygroundAnswer, PlaygroundQuestion
from sakuin.tables.model import User
from sakuin.upkeep.gaps import MOST_QUESTIONS, Gap, Remedy, gaps_of, remedy
from sakuin.upkeep.refused_questions import Judgement, RefusedQuestion, WatchedGaps

_NEAREST = 3


@dataclass(frozen=True, slots=True)
class Gaps:
    """The gaps by Tools (None: all), and whether questions are recorded. `ask` asks the function `mcp`.

    `feedback` returns what agents said most often of answers of the library. Without `watched` no question can be.
    """

    places: Places
    most_frequent: Callable[[Collection[str] | None, int], Sequence[RefusedQuestion]]
    ask: Callable[[PlaygroundQuestion], PlaygroundAnswer]
    is_recorded: bool
    feedback: Callable[[int], Sequence[Judgement]] = lambda _limit: ()
    watched: WatchedGaps | None = None

    def all(self, tools: Collection[str] | None = None) -> list[Gap]:
        """Returns the gaps, the most frequent first."""
        return gaps_of(self.most_frequent(tools, MOST_QUESTIONS))

    def remedy(self, gap: Gap, user: User | None = None) -> Remedy:
        """Returns what a page that answers a gap would need. A Tool that no endpoint has cannot be asked."""
        mcp_id = None
        if gap.tool_id is not None:
            mcp_id = self.places.endpoint(user, self.places.records.tool(user, gap.tool_id))
            if mcp_id is None:
                return remedy(gap, None, None)
        arguments = {"query": gap.questions[0].question, "top_k": _NEAREST}
        # The limit of searches of the library counts those of a user by the user.
        user_id = user.id if user else None
        answer = self.ask(PlaygroundQuestion(arguments, mcp_id, gap.tool_id, user_id=user_id))
        return remedy(gap, answer.structured, answer.explanation)
