"""The catalogue of texts: `en.toml` and `ja.toml` have the same codes, with the values that a text needs."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from string import Formatter
from typing import Any

# The first one is for everybody whose language is not here.
LANGUAGES = {"en": "English", "ja": "日本語"}
# The codes of reasons and findings begin so.
_SAID = "said."
# A longer text is no reason of ours; and values may hold reasons.
_LONGEST, _DEEPEST = 2000, 3


class CodedText(str):
    """A reason or finding in English, as REST and the command show it, with the code and values that it was made of."""

    code: str
    values: Mapping[str, object]


def coded(code: str, /, **values: object) -> CodedText:
    """Returns the text of a code below `said.`."""
    text = CodedText(texts_in("en")(f"{_SAID}{code}", **values))
    text.code, text.values = code, values
    return text


def counted(noun: str, count: int) -> CodedText:
    """Returns a number of things: `3 headings`. The nouns are below `said.count.`."""
    return coded(f"count.{noun}.{'one' if count == 1 else 'many'}", count=count)


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one language, by codes as `overview.title`."""

    language: str
    sentences: Mapping[str, str]

    def __call__(self, code: str, /, **values: object) -> str:
        """Returns the text with the values at their places. `KeyError` for a code that does not exist."""
        sentence = self.sentences[code]
        return _FORMATTER.vformat(sentence, (), values) if values else sentence

    def __contains__(self, code: str) -> bool:
        return code in self.sentences

    def said(self, text: str) -> str | None:
        """Returns a reason or finding in this language; None for a text that the catalogue does not have.

        The database keeps reasons as texts: their code and values are read back.
        """
        return text if self.language == "en" else _translated(self, text, _DEEPEST)


class _Formatter(Formatter):
    """Writes whole numbers with separators. A format belongs to numbers: a value that was read back is text."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, str):
            return value
        return format(value, format_spec or ("," if isinstance(value, int) else ""))


_FORMATTER = _Formatter()


@cache
def texts_in(language: str) -> Texts:
    """Returns the texts of a language of `LANGUAGES`."""
    content = files("sakuin.texts").joinpath(f"{language}.toml").read_text(encoding="utf-8")
    return Texts(language, dict(_flat(tomllib.loads(content))))


def chosen_language(wanted: str | None, accepted: str) -> str:
    """Returns the wanted language if there is one, else the first known one of the header `Accept-Language`."""
    if wanted in LANGUAGES:
        return wanted
    for entry in accepted.split(","):
        language = entry.split(";")[0].strip().lower().split("-")[0]
        if language in LANGUAGES:
            return language
    return next(iter(LANGUAGES))


def read_back(text: str) -> tuple[str, Mapping[str, object]] | None:
    """Returns the code and the values of such a text; None for any other text."""
    if isinstance(text, CodedText):
        return text.code, text.values
    return _read_back(text) if len(text) <= _LONGEST else None


def _translated(texts: Texts, text: str, deepest: int) -> str | None:
    if not deepest or (read := read_back(text)) is None:
        return None
    code, values = read
    said = {
        name: (isinstance(value, str) and _translated(texts, value, deepest - 1)) or value
        for name, value in values.items()
    }
    return texts(f"{_SAID}{code}", **said)


@lru_cache(maxsize=1000)
def _read_back(text: str) -> tuple[str, Mapping[str, object]] | None:
    for code, pattern in _patterns():
        if match := pattern.fullmatch(text):
            return code, match.groupdict()
    return None


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Returns the pattern of each text, those with the most text of their own first.

    A value ends where the text after it begins: a hostile text cannot cause backtracking.
    """
    sentences = {code: text for code, text in texts_in("en").sentences.items() if code.startswith(_SAID)}
    lengths = {code: sum(len(part[0]) for part in Formatter().parse(text)) for code, text in sentences.items()}
    ordered = sorted(sentences, key=lengths.__getitem__, reverse=True)
    return [(code.removeprefix(_SAID), re.compile(_pattern(sentences[code]), re.DOTALL)) for code in ordered]


def _pattern(sentence: str) -> str:
    parts, pattern, seen = list(Formatter().parse(sentence)), "", set[str]()
    for place, (literal, name, _, _) in enumerate(parts):
        pattern += re.escape(literal)
        if name in seen:
            pattern += f"(?P={name})"
        elif name:
            following = parts[place + 1][0] if place + 2 < len(parts) else ""
            value = rf"(?:(?!{re.escape(following)}).)++" if following else ".+"
            pattern += f"(?P<{name}>{value})"
            seen.add(name)
    return pattern


def _flat(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value)
