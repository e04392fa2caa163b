"""What a check found: as lines, a comment in Markdown, findings for SARIF, and a JSON document."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sakuin.knowledge.validation import Finding

from sakuin_cli.evaluation.labels import LabelledQuestion
from sakuin_cli.prediction.answers import Prediction
from sakuin_cli.prediction.changes import Loss
from sakuin_cli.site.sarif import relative
from sakuin_cli.terminal import counted, first_of, shortened

RULE = "lost-answer"
# A message names so many questions, and a comment has so many lines.
_NAMED, _LINES = 5, 20
_LONGEST = 80
_WAYS = {"removed": "is removed", "changed": "has another text", "outranked": "ranks first now", "elsewhere": "changed"}


@dataclass(frozen=True, slots=True)
class Report:
    """The predictions of all golden questions, and the causes of lost answers.

    `reason`: why some texts have no vector, None if all have one.
    """

    predictions: Sequence[Prediction]
    losses: Sequence[Loss]
    reason: str | None = None

    @property
    def lost(self) -> int:
        """Returns the number of questions that lose their answer."""
        return sum(each.is_lost for each in self.predictions)

    @property
    def unknown(self) -> list[LabelledQuestion]:
        """Returns the questions whose answers cannot be predicted."""
        return [each.question for each in self.predictions if not each.is_known]

    @property
    def summary(self) -> str:
        """Returns the counts in a sentence."""
        gained = sum(each.is_gained for each in self.predictions)
        parts = [f"{self.lost:,} of {counted(len(self.predictions), 'golden question')} lose their answer"]
        parts += [f"{gained:,} gain theirs"] if gained else []
        parts += [f"{len(self.unknown):,} cannot be predicted"] if self.unknown else []
        return ", ".join(parts)

    @property
    def unpredicted(self) -> str | None:
        """Returns which questions cannot be predicted, and why; None if all are predicted."""
        if not self.unknown:
            return None
        reason = self.reason or "their vectors cannot be had"
        return f"{first_of(list(map(question_name, self.unknown)), _LINES)} cannot be predicted: {reason}"

    def lines(self) -> list[str]:
        """Returns a sentence for each cause, with its file and line."""
        return [f"{relative(one.cause.path)}:{one.cause.line}: {_sentence(one)}" for one in self.losses]

    def markdown(self) -> str:
        """Returns a comment for a pull request."""
        title = f"**Search**: {self.summary}."
        shown = [
            f"- `{relative(one.cause.path)}:{one.cause.line}`: {_escaped(_sentence(one))}"
            for one in self.losses[:_LINES]
        ]
        more = len(self.losses) - _LINES
        shown += [f"- and {counted(more, 'other change')}"] if more > 0 else []
        return "\n".join([title, *([""] if shown else []), *shown, *_note(self.unpredicted)]) + "\n"

    def findings(self) -> list[Finding]:
        """Returns a finding for each cause."""
        found = []
        for one in self.losses:
            material, _, anchor = one.cause.id.rpartition("#")
            found.append(Finding("error", RULE, material, anchor, _sentence(one)))
        return found

    def as_json(self) -> dict[str, Any]:
        """Returns the JSON document."""
        return {
            "questions": len(self.predictions),
            "lost": self.lost,
            "gained": sum(each.is_gained for each in self.predictions),
            "losses": [
                {**asdict(one.cause), "path": relative(one.cause.path), "questions": list(map(_as_json, one.questions))}
                for one in self.losses
            ],
            "unpredicted": [{"line": one.line, "query": one.query} for one in self.unknown],
            "reason": self.reason,
            "changed": [_as_json(each) for each in self.predictions if each.is_known and each.before != each.after],
        }


def question_name(question: LabelledQuestion) -> str:
    """Returns the name of a golden question, by its line in the file."""
    return f"q{question.line}"


def _sentence(loss: Loss) -> str:
    named = [
        f'{question_name(each.question)} "{shortened(each.question.query, _LONGEST)}" {_now(each)}'
        for each in loss.questions
    ]
    count = counted(len(loss.questions), "question")
    return f"{loss.cause.id} {_WAYS[loss.cause.kind]} and takes the answer from {count}: " + first_of(
        named, _NAMED, separator="; "
    )


def _now(prediction: Prediction) -> str:
    was, now = (each.opened if each else None for each in (prediction.before, prediction.after))
    if now is None:
        return f"has no good match instead of {was}"
    return f"now opens {now} instead of {was}" if was else f"now opens {now} and should have no answer"


def _escaped(text: str) -> str:
    """Returns a text as Markdown shows it: questions and ids are somebody's, and are no markup."""
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>#|@!~&" else letter for letter in text)


def _note(text: str | None) -> list[str]:
    return ["", f"_{_escaped(text)}_"] if text else []


def _as_json(prediction: Prediction) -> dict[str, Any]:
    before, after = (asdict(each) if each else None for each in (prediction.before, prediction.after))
    return {"line": prediction.question.line, "query": prediction.question.query, "before": before, "after": after}
