"""Which texts go to an embedding service together."""

from collections.abc import Iterator, Sequence

# OpenAI takes at most 2,048 texts and 300,000 tokens a request; a Japanese character is about one token. Less is
# asked for at once, so that a slow endpoint answers before the request is given up and asked for again.
_MAX_TEXTS = 64
_MAX_CHARACTERS = 20_000
# A token is a byte at least, and a text may have 8,192; the rest is for a model's prefix.
_ALWAYS_FITS = 8_000


def requests(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in their order, in parts that a service takes at once."""
    request: list[str] = []
    characters = 0
    for text in texts:
        if request and (len(request) == _MAX_TEXTS or characters + len(text) > _MAX_CHARACTERS):
            yield request
            request, characters = [], 0
        request.append(text)
        characters += len(text)
    if request:
        yield request


def fitting(text: str) -> str:
    """The beginning of a text that has no more tokens than a service takes, whatever its characters are."""
    return text.encode("utf-8", "replace")[:_ALWAYS_FITS].decode("utf-8", "ignore")
