"""English for the words of Japanese titles that belong to no subject; a vocabulary has those of a subject."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from sakuin.language.morphemes import morphemes
from sakuin.language.vocabulary import Vocabulary


@cache
def title_words() -> Mapping[str, str]:
    """Returns English words by Japanese ones, in the normalized form of the dictionary."""
    return _normalized({**_section("verbs"), **_section("nouns")})


@cache
def verbs() -> frozenset[str]:
    """Returns the English of verbs, which comes before its object."""
    return frozenset(_section("verbs").values())


@cache
def actions() -> Mapping[str, str]:
    """Returns English verbs by Japanese nouns that become verbs with する."""
    return _section("actions")


def subject_words(vocabulary: Vocabulary) -> Mapping[str, str]:
    """Returns the words of a vocabulary that are no concepts, by their Japanese. Of several the first counts."""
    first: dict[str, str] = {}
    for english, japanese in vocabulary.words.items():
        first.setdefault(japanese[0], english)
    return _normalized(first)


def _section(name: str) -> dict[str, str]:
    text = files("sakuin_cli").joinpath("annotation", "title-words.txt").read_text("utf-8")
    section = text.partition(f"[{name}]")[2].partition("[")[0]
    entries = (entry.split() for line in section.splitlines() for entry in line.split(" / ") if entry.strip())
    return {entry[0]: entry[1] for entry in entries}


def _normalized(words: Mapping[str, str]) -> dict[str, str]:
    lines = morphemes("\n".join(words))
    terms = {
        line[0].terms[0]: english
        for english, line in zip(words.values(), lines, strict=True)
        if len(line) == 1 and line[0].terms
    }
    return {**terms, **words}
