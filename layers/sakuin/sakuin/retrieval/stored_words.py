"""The words leg of a query to turbopuffer, over the terms of rows."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from sakuin.language.model import Slot, WeightedTerm

# The documentation of turbopuffer names limits of 1,024 and 8,192 for a full-text query. This is below both.
_MAX_QUERY_CHARACTERS = 1_000

# Far more than questions have; turbopuffer documents no limit.
_MAX_CLAUSES = 128

# The greatest `max_token_length`: turbopuffer drops longer tokens silently. The dictionary takes a string of a thousand
# letters as one word. Stored and queried terms are cut the same way.
TERM_BYTES = 254


def sent_term(term: str) -> str:
    """Returns a term as it is stored and queried."""
    return term.encode(errors="surrogatepass")[:TERM_BYTES].decode(errors="ignore")


def words_leg(slots: Sequence[Slot], text: str) -> tuple[Any, ...] | None:
    """Returns the sum over slots of the best term of each; without slots, a query for the text; None if it is blank.

    The BM25 of several tokens is their sum, so that all slots with one term of the same weight are one clause.
    """
    selection = _fitting(slots)
    single = sorted((slot.terms[0] for slot in selection if len(slot.terms) == 1), key=lambda each: -each.weight)
    clauses = [
        _clause(weight, *(each.term for each in same)) for weight, same in groupby(single, key=lambda each: each.weight)
    ]
    clauses += [
        ("Max", [_clause(each.weight, each.term) for each in slot.terms]) for slot in selection if len(slot.terms) > 1
    ]
    if clauses:
        return clauses[0] if len(clauses) == 1 else ("Sum", clauses)
    cut = _unicode(text)[:_MAX_QUERY_CHARACTERS]
    return ("content", "BM25", cut) if cut.strip() else None


def _fitting(slots: Sequence[Slot]) -> list[Slot]:
    """Returns the first slots that fit into a query, with their terms as they are stored, each once."""
    fitting: list[Slot] = []
    for slot in slots:
        best: dict[str, float] = {}
        for each in slot.terms:
            term = sent_term(_unicode(each.term))
            if each.weight > 0:
                best[term] = max(each.weight, best.get(term, 0.0))
        if best:
            fitting.append(Slot(slot.kind, tuple(WeightedTerm(*pair) for pair in best.items())))
    return list(_until_full(dict.fromkeys(fitting)))


def _until_full(slots: Sequence[Slot] | dict[Slot, None]) -> Iterator[Slot]:
    characters, clauses = 0, 0
    for slot in slots:
        characters += sum(len(each.term) for each in slot.terms)
        clauses += len(slot.terms)
        if characters > _MAX_QUERY_CHARACTERS or clauses > _MAX_CLAUSES:
            return
        yield slot


def _clause(weight: float, *terms: str) -> tuple[Any, ...]:
    clause = ("terms", "BM25", list(terms))
    return clause if weight == 1 else ("Product", weight, clause)


def _unicode(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
