"""A question with variants: what was typed stays, and each replacement is another reading of a span of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sakuin.language.model import RewriteStep, Rule
from sakuin.language.questions.slots import QueryUnit, add_phrasings, phrasings_together


@dataclass(frozen=True, slots=True)
class Replacement:
    """The span from `start` to `end` of a text, and what was probably meant."""

    start: int
    end: int
    meant: str


@dataclass(frozen=True, slots=True)
class _Piece:
    """A replaced span: where it is in the typed text and in the variant."""

    typed: tuple[int, int]
    variant: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Draft:
    """A typed question, and its variant `text` after all replacements so far."""

    typed: str
    text: str
    steps: tuple[RewriteStep, ...] = ()
    pieces: tuple[_Piece, ...] = ()

    def with_replaced(self, rule: Rule, replacements: Iterable[Replacement]) -> "Draft":
        """Returns the draft after replacements in `text` that do not overlap."""
        draft = self
        steps: list[RewriteStep] = []
        for replacement in sorted(replacements, key=lambda one: one.start, reverse=True):
            steps.insert(0, RewriteStep(rule, self.text[replacement.start : replacement.end], replacement.meant))
            draft = draft._with_piece(replacement)
        return Draft(self.typed, draft.text, (*self.steps, *steps), draft.pieces)

    def with_variants(self, units: Sequence[QueryUnit], variant: Sequence[QueryUnit]) -> list[QueryUnit]:
        """Returns the units of the typed text, with those of the variant text as phrasings of the same spans."""
        merged = list(units)
        for start, end in self._spans(variant):
            inside = [unit for unit in variant if unit.start < end and start < unit.end]
            typed_start, typed_end = self.typed_span(start, end)
            merged = add_phrasings(merged, typed_start, typed_end, phrasings_together(inside))
        return merged

    def _with_piece(self, new: Replacement) -> "Draft":
        start, end = self._whole(new.start, new.end)
        inside = [piece for piece in self.pieces if piece.variant[0] < end and start < piece.variant[1]]
        text = self.text[start : new.start] + new.meant + self.text[new.end : end]
        shift = len(text) - (end - start)
        piece = _Piece(self.typed_span(start, end), (start, start + len(text)))
        kept_pieces = [
            old if old.variant[1] <= start else _Piece(old.typed, (old.variant[0] + shift, old.variant[1] + shift))
            for old in self.pieces
            if old not in inside
        ]
        pieces = sorted([*kept_pieces, piece], key=lambda one: one.variant)
        return Draft(self.typed, self.text[:start] + text + self.text[end:], self.steps, tuple(pieces))

    def _whole(self, start: int, end: int) -> tuple[int, int]:
        """Returns the span of the variant text, extended to whole pieces."""
        for piece in self.pieces:
            if piece.variant[0] < end and start < piece.variant[1]:
                start, end = min(start, piece.variant[0]), max(end, piece.variant[1])
        return start, end

    def _spans(self, units: Sequence[QueryUnit]) -> list[tuple[int, int]]:
        """Returns the replaced spans of the variant text, extended to whole units and merged where they overlap."""
        spans: list[tuple[int, int]] = []
        for piece in self.pieces:
            covered = [unit for unit in units if unit.start < piece.variant[1] and piece.variant[0] < unit.end]
            start, end = self._whole(
                min([piece.variant[0], *(unit.start for unit in covered)]),
                max([piece.variant[1], *(unit.end for unit in covered)]),
            )
            while spans and start < spans[-1][1]:
                before = spans.pop()
                start, end = min(start, before[0]), max(end, before[1])
            spans.append((start, end))
        return spans

    def typed_span(self, start: int, end: int) -> tuple[int, int]:
        """Returns the span of the typed text for a span of the variant text with whole pieces only."""
        return self._place(start), self._place(end)

    def _place(self, at: int) -> int:
        before = [piece for piece in self.pieces if piece.variant[0] < at]
        return at + before[-1].typed[1] - before[-1].variant[1] if before else at
