"""The words of a text as turbopuffer's built-in tokenizer sees them: UAX#29 word boundaries."""

from collections.abc import Sequence

import regex

from sakuin_local.turbopuffer.schema import FullText

# Unicode's default word boundaries: kanji and hiragana stand alone, katakana stay together.
_BOUNDARY = regex.compile(r"(?V1w)\b")
# Spaces and punctuation are no words; an emoji is one.
_WORD = regex.compile(r"[\p{Alphabetic}\p{N}]|\p{Emoji_Presentation}")


def tokens(value: str | Sequence[str], full_text: FullText) -> list[str]:
    """The tokens of a stored value or a query, in order; a list of a `pre_tokenized_array` is taken as it is."""
    if full_text.is_pre_tokenized:
        return [value] if isinstance(value, str) else list(value)
    texts = [value] if isinstance(value, str) else value
    return [token for text in texts for token in _words(text, full_text)]


def _words(text: str, full_text: FullText) -> list[str]:
    found = []
    for segment in _BOUNDARY.split(text):
        if _WORD.search(segment):
            token = segment if full_text.case_sensitive else segment.lower()
            if len(token.encode()) <= full_text.max_token_length:
                found.append(token)
    return found
