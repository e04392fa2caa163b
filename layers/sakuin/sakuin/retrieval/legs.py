"""The parts of a search that an explanation may leave out."""

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    pass

# Which legs are asked: meaning and words, or one of them alone.
Legs = Literal["both", "words", "vectors"]

# What may be left out of understanding a question, by the names that its steps carry.
Rule = Literal["notation", "reduction", "rewriting", "typos", "synonyms", "english", "readings", "examples"]
