"""The words leg of a query to turbopuffer, over the terms of rows."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

# The documentation of turbopuffer names limits of 1,024 and 8,192 for a full-text query. This is below both.
_MAX_QUERY_CHARACTERS = 1_000

# Far more than questions have; turbopuffer documents no limit.
_MAX_CLAUSES = 128

# The greatest `max_token_length`: turbopuffer drops longer tokens silently. The dictionary takes a string of a thousand
# letters as one word. Stored and queried terms are cut the same way.
TERM_BYTES = 254

# Terms with their weights, of which the best counts.
Alternatives = tuple[tuple[str, float], ...]


def sent_term(term: str) -> str:
    """Returns a term as it is stored and queried."""
    return term.encode(errors="surrogatepass")[:TERM_BYTES].decode(errors="ignore")


def words_leg(slots: Sequence[Mapping[str, float]], text: str) -> tuple[Any, ...] | None:
    """Returns the sum over slots of the best term of each; without slots, a query for the text; None if it is blank.

    A slot has its terms with their weights. The BM25 of several tokens is their sum, so that all slots with one term of
    the same weight are one clause.
    """
    selection = list(_until_full(dict.fromkeys(filter(None, map(_sent, slots)))))
    single = sorted((terms[0] for terms in selection if len(terms) == 1), key=lambda each: -each[1])
    clauses = [
        _clause(weight, *(term for term, _ in same)) for weight, same in groupby(single, key=lambda each: each[1])
    ]
    clauses += [("Max", [_clause(weight, term) for term, weight in terms]) for terms in selection if len(terms) > 1]
    if clauses:
        return clauses[0] if len(clauses) == 1 else ("Sum", clauses)
    cut = _unicode(text)[:_MAX_QUERY_CHARACTERS]
    return ("content", "BM25", cut) if cut.strip() else None


def _sent(slot: Mapping[str, float]) -> Alternatives:
    """Returns the terms of a slot as they are stored."""
    best: dict[str, float] = {}
    for term, weight in slot.items():
        sent = sent_term(_unicode(term))
        if weight > 0:
            best[sent] = max(weight, best.get(sent, 0.0))
    return tuple(best.items())


def _until_full(slots: Mapping[Alternatives, None]) -> Iterator[Alternatives]:
    characters, clauses = 0, 0
    for terms in slots:
        characters += sum(len(term) for term, _ in terms)
        clauses += len(terms)
        if characters > _MAX_QUERY_CHARACTERS or clauses > _MAX_CLAUSES:
            return
        yield terms


def _clause(weight: float, *terms: str) -> tuple[Any, ...]:
    clause = ("terms", "BM25", list(terms))
    return clause if weight == 1 else ("Product", weight, clause)


def _unicode(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
