"""Documents of turbopuffer with their schema, and the words leg of a query."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal

from turbopuffer.types import AttributeSchemaParam, Row

from sakuin.errors import Invalid
from sakuin.language.model import Slot, WeightedTerm
from sakuin.tables.chunk_store import StoredChunkRow

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


DISTANCE: Literal["cosine_distance"] = "cosine_distance"

_SCHEMA: dict[str, AttributeSchemaParam] = {
    "content": {"type": "string", "full_text_search": True},
    # turbopuffer has no Japanese analyzer, so the product sends terms.
    "terms": {
        "type": "[]string",
        "full_text_search": {"tokenizer": "pre_tokenized_array", "max_token_length": TERM_BYTES},
    },
    # The same terms for the ranking: one string is returned and read faster than a list.
    "term_counts": {"type": "string", "filterable": False},
    # A filterable value has at most 4 KiB, and a pointer may be longer, so filters use hashes.
    "json_pointer": {"type": "string", "filterable": False},
    "pointer_hash": {"type": "string", "filterable": True},
    "ancestors": {"type": "[]string", "filterable": True},
    "content_hash": {"type": "string", "filterable": True},
    "chunk_index": {"type": "int", "filterable": True},
    # A chunk is a document for each of its passages. The first has the id of the chunk, its text and its words; the
    # id of another one ends with its number.
    "chunk": {"type": "string", "filterable": True},
    "passage": {"type": "int", "filterable": True},
    "generation": {"type": "int", "filterable": True},
}

# In no doc id.
_PASSAGE = "/"
# The names, hashes and numbers of a row.
_OTHER_BYTES = 1_000


def schema(dimensions: int) -> dict[str, AttributeSchemaParam]:
    """Returns the schema of a namespace with vectors of `dimensions`.

    Vectors of 16-bit floats cost half, and change cosines in the fourth decimal place.
    """
    return {"vector": {"type": f"[{dimensions}]f16", "ann": True}, **_SCHEMA}


def documents(row: StoredChunkRow) -> Iterator[dict[str, Any]]:
    """Returns the documents of a chunk, one for each passage."""
    terms = [sent_term(term) for term in row.terms]
    words = {"content": row.content, "terms": terms, "term_counts": _columns(terms), "json_pointer": row.json_pointer}
    for passage, vector in enumerate(row.vectors):
        yield {
            "id": f"{row.doc_id}{_PASSAGE}{passage}" if passage else row.doc_id,
            "vector": vector,
            "chunk": row.doc_id,
            "passage": passage,
            "pointer_hash": row.ancestors[-1],
            "ancestors": list(row.ancestors),
            "content_hash": row.content_hash,
            "chunk_index": row.chunk_index,
            "generation": row.generation,
            **({} if passage else words),
        }


def chunk_of(row: Row) -> str:
    """Returns the doc id of the chunk that a row is a passage of."""
    return str(row.id).partition(_PASSAGE)[0]


def cosine(row: Row) -> float:
    """Returns the cosine of a row with the question; turbopuffer returns the distance."""
    return 1 - float(str(row["$dist"]))


def _columns(terms: Sequence[str]) -> str:
    """Returns a line with the number of terms and the count of each different one, then these, a line each."""
    counts = Counter(terms)
    return "\n".join([" ".join(map(str, (len(terms), *counts.values()))), *counts])


def term_counts(row: Row, asked: Mapping[str, str]) -> tuple[dict[str, int], int]:
    """Returns how often a row has each of the terms `asked` (by their stored form), and how many terms it has."""
    numbers, *terms = str(row["term_counts"]).split("\n")
    total, *counts = numbers.split(" ")
    return {asked[term]: int(counts[terms.index(term)]) for term in asked.keys() & terms}, int(total)


def requests(rows: Sequence[StoredChunkRow], max_bytes: int) -> Iterator[list[StoredChunkRow]]:
    """Yields requests of at most `max_bytes`, with the rows in order; of one id only the greatest generation."""
    request: list[StoredChunkRow] = []
    size = 0
    for row in _newest(rows):
        row_size = _size(row)
        if request and size + row_size > max_bytes:
            yield request
            request, size = [], 0
        request.append(row)
        size += row_size
    if request:
        yield request


def _newest(rows: Sequence[StoredChunkRow]) -> list[StoredChunkRow]:
    # turbopuffer rejects a write with the same id twice.
    by_id: dict[str, StoredChunkRow] = {}
    for row in rows:
        if row.doc_id not in by_id or by_id[row.doc_id].generation <= row.generation:
            by_id[row.doc_id] = row
    return list(by_id.values())


def _size(row: StoredChunkRow) -> int:
    """Returns about how many bytes of JSON a row takes; a vector is base64 of float32."""
    try:
        texts = sum(len(text.encode()) + 3 for text in (row.content, row.json_pointer, *row.ancestors))
        # Twice: with their counts too.
        texts += 2 * sum(len(term.encode()) + 3 for term in row.terms)
    except UnicodeEncodeError as error:
        raise Invalid(f"{row.doc_id} contains half of a surrogate pair, which is not Unicode text") from error
    hashes = sum(len(ancestor) + 3 for ancestor in row.ancestors)
    return texts + sum(len(vector) * 16 // 3 + hashes + _OTHER_BYTES for vector in row.vectors)
