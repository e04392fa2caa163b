"""The sentences of the console in each language, from `texts/*.toml`, and the choice of a language."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

# The first one is for everybody whose language is not here.
LANGUAGES = {"en": "English", "ja": "日本語"}


@dataclass(frozen=True, slots=True)
class Texts:
    """The sentences of one language, by keys as `overview.title`."""

    language: str
    sentences: Mapping[str, str]

    def __call__(self, key: str, **values: object) -> str:
        """Returns the sentence with the values at their places. `KeyError` for a key that does not exist."""
        sentence = self.sentences[key]
        return sentence.format(**values) if values else sentence

    def __contains__(self, key: str) -> bool:
        return key in self.sentences


@cache
def texts_in(language: str) -> Texts:
    """Returns the sentences of a language of `LANGUAGES`."""
    content = files("sakuin.console").joinpath("texts", f"{language}.toml").read_text(encoding="utf-8")
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
