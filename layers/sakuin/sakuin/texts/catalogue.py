"""The catalogue of texts: `en.toml` and `ja.toml` have the same codes, with the values that a text needs."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from importlib.resources import files
from string import Formatter
from typing import Any

# The first one is for everybody whose language is not here.
LANGUAGES = {"en": "English", "ja": "日本語"}
# The codes of reasons and findings begin so.
_SAID = "said."
# The code of a text that has none, such as that of a vendor.
_OTHER = "other"


class Reason(str):
    """A reason or finding in English, as REST and the command show it, with the code and values that it was made of."""

    code: str
    values: Mapping[str, object]

    def __str__(self) -> str:
        # The message of an error stays a reason: `str(error)`.
        return self


def coded(code: str, /, **values: object) -> Reason:
    """Returns the text of a code below `said.`."""
    reason = Reason(texts_in("en")(f"{_SAID}{code}", **values))
    reason.code, reason.values = code, values
    return reason


def stored(text: str | None) -> dict[str, Any] | None:
    """Returns a reason as the database has it, `{code, values}`, None for None. Another text is the value of a code.

    Postgres stores no NUL and no half of a surrogate pair: they become escapes.
    """
    if text is None:
        return None
    reason = text if isinstance(text, Reason) else coded(_OTHER, text=text)
    return {"code": reason.code, "values": {name: _storable(value) for name, value in reason.values.items()}}


def _storable(value: object) -> object:
    if isinstance(value, Reason):
        return stored(value)
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\u0000")


def code_of(text: str | None) -> str | None:
    """Returns the code of a reason, for programs; None for a text without one."""
    return text.code if isinstance(text, Reason) else None


def restored(value: Any) -> Any:
    """Returns JSON with the reasons in it, at any depth, as `stored` has made them."""
    if isinstance(value, list):
        return list(map(restored, value))
    if not isinstance(value, dict):
        return value
    members = {name: restored(member) for name, member in value.items()}
    if members.keys() != {"code", "values"}:
        return members
    try:
        return coded(members["code"], **members["values"])
    except (KeyError, TypeError):
        # Another version wrote it.
        return coded(_OTHER, text=str(members["code"]))


def joined(reasons: Sequence[str]) -> str | None:
    """Returns reasons as one; None without any."""
    return reduce(lambda one, other: coded("file.both", one=one, other=other), reasons) if reasons else None


def counted(noun: str, count: int) -> Reason:
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
        """Returns a reason or finding in this language; None for a text that is none."""
        if self.language == "en":
            return text
        if not isinstance(text, Reason) or text.code == _OTHER:
            return None
        values = {name: (isinstance(value, str) and self.said(value)) or value for name, value in text.values.items()}
        return self(f"{_SAID}{text.code}", **values)


class _Formatter(Formatter):
    """Writes whole numbers with separators, and as `{reason:part}` a sentence that another one goes on after."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "part":
            return str(value).rstrip(".。")
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


def _flat(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value)
