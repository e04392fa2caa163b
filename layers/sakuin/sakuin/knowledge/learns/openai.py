"""The `LearnsModel` of OpenAI."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from openai import APIStatusError, LengthFinishReasonError, OpenAI, OpenAIError, Timeout
from pydantic import BaseModel, Field

from sakuin.errors import OutOfTime, OverBudget, RateLimited, Refused, Unavailable
from sakuin.knowledge.learns.instructions import INSTRUCTIONS, Section, instructions_version
from sakuin.knowledge.postgres import Items
from sakuin.platform.calls import Ask, background, retry_after
from sakuin.platform.openai.client import VENDOR, status_error
from sakuin.platform.openai.models import model_facts
from sakuin.texts.catalogue import coded

if TYPE_CHECKING:
    from openai.types import CompletionUsage

_INSTRUCTION = f"""\
{INSTRUCTIONS}
You get sections of one page. A long one comes in parts: write items for each. Answer with the anchor of each as it is
given."""

# Six answers of 80 tokens take 8 s at 62 tokens a second.
LEARNS_TIMEOUT = Timeout(30.0, connect=5.0)
# Bounds the cost of a call. Six answers of five items have about 1,000.
_MOST_TOKENS = 3_000
# Characters that a call reads. A longer group of sections takes several calls.
_MOST_READ = 24_000
# A setting that the vendor rejects is no text's fault.
_SETTINGS = {"model", "reasoning_effort", "response_format", "max_completion_tokens"}


class _Item(BaseModel):
    anchor: str
    learns: list[str] = Field(description="3-5 action-oriented items")


class _Answer(BaseModel):
    items: list[_Item]


@dataclass(frozen=True, slots=True)
class OpenAILearnsModel:
    """A `LearnsModel` with the least reasoning that the model has.

    It does not retry: a later message does. If one of several calls fails, it returns the answers before. It calls
    `require_budget` before each call, and `on_tokens` with the tokens that its answer cost.
    """

    client: OpenAI
    model: str
    on_tokens: Callable[[int], None] = lambda _tokens: None
    timeout: Timeout = field(default_factory=lambda: LEARNS_TIMEOUT)
    ask: Ask = field(default_factory=lambda: background(attempts=1, max_wait=0))
    require_budget: Callable[[], None] = lambda: None

    @property
    def name(self) -> str:
        return f"{self.model}/{instructions_version()}"

    def learns(self, sections: Sequence[Section]) -> Mapping[str, Items]:
        answers: dict[str, Items] = {}
        for group in _groups(sections):
            try:
                self.require_budget()
                answers |= self._asked_about(group)
            except (Unavailable, OverBudget, OutOfTime):
                if not answers:
                    raise
                break
        return answers

    def _asked_about(self, sections: Sequence[Section]) -> Mapping[str, Items]:
        """Returns the items of all sections, those of parts by turns; none for a section that the answer leaves out."""
        parts = {part.name: part for section in sections for part in section.divided}
        text = "\n\n".join(f"anchor: {name}\n{part.shown}" for name, part in parts.items())
        lists: defaultdict[str, list[list[str]]] = defaultdict(list)
        for item in self.ask(partial(self._answered, text)).items:
            if item.anchor in parts:
                lists[parts[item.anchor].anchor].append(item.learns)
        return {one.anchor: _by_turns(lists[one.anchor]) for one in sections}

    def _answered(self, text: str) -> _Answer:
        effort = model_facts(self.model).least_reasoning
        options: dict[str, Any] = {"reasoning_effort": effort} if effort else {}
        try:
            answer = self.client.with_options(timeout=self.timeout, max_retries=0).chat.completions.parse(
                model=self.model,
                messages=[{"role": "system", "content": _INSTRUCTION}, {"role": "user", "content": text}],
                response_format=_Answer,
                max_completion_tokens=_MOST_TOKENS,
                **options,
            )
            self._count(answer.usage)
            parsed = answer.choices[0].message.parsed if answer.choices else None
        except APIStatusError as error:
            raise _failure(error) from error
        except LengthFinishReasonError as error:
            self._count(error.completion.usage)
            raise Unavailable(coded("vendor.model_silent"), vendor=VENDOR) from error
        except (OpenAIError, ValueError, TypeError, AttributeError) as error:
            raise Unavailable(coded("vendor.model_silent"), vendor=VENDOR) from error
        if parsed is None:
            raise Unavailable("The language model refused to answer", vendor=VENDOR)
        return parsed

    def _count(self, usage: "CompletionUsage | None") -> None:
        if usage is not None:
            self.on_tokens(usage.total_tokens)


def _groups(sections: Sequence[Section]) -> Iterator[Sequence[Section]]:
    """Yields the sections in groups that one call reads; without any section, one group."""
    group: list[Section] = []
    length = 0
    for section in sections:
        size = sum(len(part.shown) for part in section.divided)
        if group and length + size > _MOST_READ:
            yield group
            group, length = [], 0
        group.append(section)
        length += size
    yield group


def _by_turns(lists: Sequence[Sequence[str]]) -> Items:
    return tuple(item for row in zip_longest(*lists) for item in row if item)


def _failure(error: APIStatusError) -> Unavailable:
    refusal = status_error(error.status_code, error.response.headers, error.body, service="language model")
    if isinstance(refusal, Refused | RateLimited):
        return refusal
    setting = error.body.get("param") if isinstance(error.body, dict) else None
    if error.status_code == 400 and setting in _SETTINGS:
        return Refused(f"The language model refused the setting {setting!r}: check LearnsModel", vendor=VENDOR)
    return Unavailable(coded("vendor.model_silent"), vendor=VENDOR, retry_after=retry_after(error.response.headers))
