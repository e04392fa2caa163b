"""A run: the answers of a deployment to golden questions."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

from sakuin.errors import Invalid, Unavailable
from sakuin.retrieval.weights import NEAREST

from sakuin_cli.client import DeploymentClient
from sakuin_cli.evaluation.questions import BadLine, Question
from sakuin_cli.terminal import OnProgress

# So many results are asked for: the depth of MRR and nDCG. Agents ask for fewer.
DEPTH = 10
_FORMAT = 2
# As many as a local stack answers at once.
_AT_ONCE = 3
_PAUSES = (1.0, 3.0)

# no good match   the answer is `no_good_match`, and the question has an answer
# missed          no expected id is among the first k results
# answered        the answer has a good match, and the question has no answer
Failure = Literal["no good match", "missed", "answered"]


@dataclass(frozen=True, slots=True)
class Result:
    """A result with its link."""

    id: str
    title: str
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The results of a question, best first, and whether they are no good match (`refused`).

    `changed`: the share of its words in the index that were not searched as typed; None if the index has none. `why`
    says why an expected id, or any good match, is not there.
    """

    question: Question
    results: tuple[Result, ...]
    refused: bool = False
    changed: float | None = None
    why: str = ""

    @property
    def opened(self) -> Result | None:
        """Returns the result that an agent opens; None without a good match."""
        return None if self.refused or not self.results else self.results[0]

    @property
    def ranking(self) -> list[str]:
        """Returns the ids that an agent gets: without a good match, the nearest alone. One that comes twice is one."""
        return list(dict.fromkeys(result.id for result in self.results))[: NEAREST if self.refused else None]

    def failure(self, k: int) -> Failure | None:
        """Returns how the question fails if `k` results count; None if it does not."""
        gold = self.question.gold
        if gold == ():
            return None if self.opened is None else "answered"
        if self.opened is None:
            return "no good match"
        return "missed" if gold and not set(gold).intersection(self.ranking[:k]) else None


@dataclass(frozen=True, slots=True)
class Run:
    """The answers of a deployment at `url`. `tool` None is `search_knowledge`, `k` is how many results count.

    `index_state` is set if the index of a tool was not ready during the run.
    """

    url: str
    tool: str | None
    k: int
    answers: tuple[Answer, ...]
    bad_lines: tuple[BadLine, ...] = ()
    index_state: str | None = None
    format: int = _FORMAT


def ask_all(
    client: DeploymentClient,
    questions: Sequence[Question],
    *,
    tool: str | None = None,
    k: int = 5,
    index: str | None = None,
    on_progress: OnProgress = lambda _phase, _done, _total: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Run:
    """Asks the questions, as an agent does. One that is not valid becomes a bad line.

    `index` names an index version; None is the live one. `sleep` waits between two attempts while the deployment does
    not answer.
    """

    def ask(question: Question) -> Mapping[str, Any] | BadLine:
        expected = next(iter(question.gold or ()), None)
        for pause in (*_PAUSES, None):
            try:
                found = client.explain(
                    question.query, tool=tool, expected=expected, top_k=k, depth=max(k, DEPTH), index=index
                )
                if degraded := found.get("degraded"):
                    # A degraded search is no measurement.
                    raise Unavailable(degraded)
                return found
            except Invalid as error:
                return BadLine(question.line, str(error))
            except Unavailable:
                if pause is None:
                    raise
                sleep(pause)
        raise AssertionError

    answers: list[Answer] = []
    bad: list[BadLine] = []
    states: list[str] = []
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for done, (question, found) in enumerate(zip(questions, pool.map(ask, questions), strict=True), 1):
            on_progress("asked", done, len(questions))
            if isinstance(found, BadLine):
                bad.append(found)
                continue
            answers.append(_answer(question, found))
            states += [state for state in (found["index_state"],) if state not in (None, "ready")]
    return Run(str(client.http.base_url), tool, k, tuple(answers), tuple(bad), next(iter(states), None))


def _answer(question: Question, found: Mapping[str, Any]) -> Answer:
    results = tuple(Result(hit["id"], hit["title"], hit.get("url")) for hit in found["results"])
    understood = found["understood"]
    words = understood.get("known")
    changed = len(understood["changed"]) / len(words) if words else None
    if expected := found["expected"]:
        why = expected["why"]
    else:
        best = found["results"][0]["similarity"] if found["results"] else 0
        why = f"The best result has a similarity of {best:.2f}, the threshold is {found['threshold']:.2f}."
    return Answer(question, results, bool(found["refused"]), changed, why)


def run_in(text: str) -> Run:
    """Parses a saved run; raises `Invalid`."""
    from pydantic import TypeAdapter

    try:
        saved = json.loads(text)["run"]
        if saved["format"] != _FORMAT:
            raise ValueError("another format")
        return TypeAdapter(Run).validate_python(saved)
    except (ValueError, KeyError, TypeError) as error:
        raise Invalid("Not a saved run: give a file that `sakuin eval FILE --json` has written") from error
