"""Near misses: labelled questions in which one number, code or name of the answer is exchanged for another one.

An absent one is in no text of the collection, one elsewhere is in another text than the answer. Of an exercise the
numbers are only an example: so it stays answerable.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sakuin.language.model import AnalyzedQuery, Specific
from sakuin.language.questions.specifics import missing_from
from sakuin.language.unicode_text import folded

# Its text, the ids of right chunks, its kind, and its language if that is not the pages'.
Question = tuple[str, Sequence[str], str, str]
EXCHANGED = tuple(f"{where} {kind}" for where in ("absent", "elsewhere") for kind in ("number", "code", "name"))
EXAMPLE = "example"
# So many of a kind are asked.
_MOST = 40
_NUMBER = re.compile(r"\d+")
_CODE = re.compile(r"--[a-z]\w+(?:-\w+)*|[a-z]+(?:_[a-z]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+|[a-z]{3,}\(\)")
_PARTS = re.compile(r"[A-Z]?[a-z]+")
# Numbers of a year, of two digits, of one.
_STEPS = (7, 13, 29, 31, 43, 57, 71, 83)


@dataclass(frozen=True)
class Exchange:
    """What may stand in the place of a specific: `texts` of a collection by id, and the questions about them."""

    texts: Mapping[str, str]
    questions: Sequence[tuple[Question, AnalyzedQuery]]
    are_exercises: bool = False

    def near_misses(self) -> list[Question]:
        """Returns at most `_MOST` questions of each kind."""
        of_kind: dict[str, list[Question]] = {}
        for one in self._all():
            of_kind.setdefault(one[2], []).append(one)
        return [one for some in of_kind.values() for one in some[:: max(1, len(some) // _MOST)][:_MOST]]

    def _all(self) -> Iterator[Question]:
        for place, ((query, gold, kind, language), understood) in enumerate(self.questions):
            right = "\n".join(self.texts[id] for id in gold if id in self.texts)
            if kind != "answer" or language or not right:
                continue
            missing = missing_from(right, understood)
            for one in understood.specifics:
                # Of a title the short words, and in Chinese words that Sudachi takes for Japanese names.
                if one.kind == "name" and (len(one.text) < 2 + one.text.isascii() or understood.language == "han/"):
                    continue
                is_example = self.are_exercises and one.kind == "number"
                # Neither an exponent nor a part of a word, such as 2次.
                if is_example and not re.search(rf"(?<![\w^.,]){re.escape(one.text)}(?![\w.,])", query):
                    continue
                if query.count(one.text) != 1 or (one.text in missing and not is_example):
                    continue
                if is_example:
                    if other := self._another(one, place, "absent", right):
                        yield query.replace(one.text, other), gold, EXAMPLE, ""
                    continue
                for where in ("absent", "elsewhere"):
                    if other := self._another(one, place, where, right):
                        yield query.replace(one.text, other), [], f"{where} {one.kind}", ""
        yield from self._of_headings()

    def _of_headings(self) -> Iterator[Question]:
        """Yields questions about a code in the first line of a text, exchanged: people who write code ask for those.

        One that stands elsewhere is answered there.
        """
        for place, text in enumerate(self.texts.values()):
            match = _CODE.search(text.partition("\n")[0])
            if match and (other := self._another(Specific(match[0], "code", ()), place, "absent", text)):
                ask = "{}の使い方" if re.search("[ぁ-ん]", text) else "how do I use {}"
                yield ask.format(other), [], "absent code", ""

    def _another(self, one: Specific, place: int, where: str, right: str) -> str | None:
        """Returns the first of the possible exchanges, from `place` on, that stands where it has to."""
        pool = self._pool[one.kind] if one.kind != "number" else ()
        if one.kind == "number":
            if not one.text.isdecimal() or not one.text.isascii():
                return None
            others = [number for number in self._numbers if len(number) == len(one.text)]
            pool = others if where == "elsewhere" else self._new_numbers(one.text)
        elif one.kind == "code" and where == "absent":
            pool = [_with_last_part(one.text, other) for other in pool]
        turned = [pool[(place + step) % len(pool)] for step in range(len(pool))]
        own = folded(right)
        for other in turned:
            if folded(other) == folded(one.text) or _form(other) != _form(one.text):
                continue
            stands = self._stands(other, self._joined)
            if (where == "absent" and not stands) or (where == "elsewhere" and stands and not self._stands(other, own)):
                return other
        return None

    @staticmethod
    def _stands(other: str, text: str) -> bool:
        if other.isdecimal():
            return re.search(rf"(?<!\d){other}(?!\d)", text) is not None
        return folded(other) in text

    def _new_numbers(self, text: str) -> list[str]:
        size = max(2, len(text))
        return [str((int(text) + step) % 10**size).zfill(size) for step in _STEPS if int(text) + step >= 21]

    @cached_property
    def _joined(self) -> str:
        return folded("\n".join(self.texts.values()))

    @cached_property
    def _numbers(self) -> list[str]:
        return sorted(set(_NUMBER.findall(self._joined)))

    @cached_property
    def _pool(self) -> dict[str, list[str]]:
        specifics = [one for _, understood in self.questions for one in understood.specifics]
        codes = {match for text in self.texts.values() for match in _CODE.findall(text)}
        names = {one.text for one in specifics if one.kind == "name"}
        return {"name": sorted(names), "code": sorted(codes | {one.text for one in specifics if one.kind == "code"})}


def _form(text: str) -> tuple[bool, ...]:
    """Returns what has to be alike in two specifics, so that a question reads as before."""
    return (text.isdecimal(), text.startswith("-"), "_" in text, text.endswith("()"), text.isascii())


def _with_last_part(code: str, other: str) -> str:
    parts, others = list(_PARTS.finditer(code)), _PARTS.findall(other)
    if not parts or not others:
        return code
    last = parts[-1]
    new = others[-1].capitalize() if last[0][0].isupper() else others[-1].lower()
    return code[: last.start()] + new + code[last.end() :]
