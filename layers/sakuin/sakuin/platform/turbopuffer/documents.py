"""Documents of turbopuffer: those of a searched row, their schema, and queries for them by words and by meaning."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from turbopuffer.types import AttributeSchemaParam, Row

from sakuin.errors import Invalid
from sakuin.platform.embedding import Vector
from sakuin.platform.run_all import in_portions

DISTANCE: Literal["cosine_distance"] = "cosine_distance"
ROWS_AN_ANSWER = 10_000
# Of the nearest passages so many are of one row, or fewer rows are found.
PASSAGES_A_ROW = 2

_SCHEMA: dict[str, AttributeSchemaParam] = {
    # A row is a document for each of its passages. The first has the id of the row and its texts; the id of another one
    # ends with its number.
    "chunk": {"type": "string", "filterable": True},
    "passage": {"type": "int", "filterable": True},
    "generation": {"type": "int", "filterable": True},
}

# In no id of a row.
_PASSAGE = "/"
# The names, hashes and numbers of a row.
_OTHER_BYTES = 1_000


@dataclass(frozen=True, slots=True)
class SearchedRow:
    """A text that is searched. `vectors` are those of its passages.

    `filters` are attributes of each passage, strings and lists of strings or numbers; `texts` are those of the row.
    """

    id: str
    generation: int
    vectors: Sequence[Vector]
    filters: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is ranked of rows: their documents with one attribute, their cosines, and the documents of a sample.

    `cosines` are those of their nearest passages, `heads` those of their first, if these are asked for.
    """

    rows: Mapping[str, Row]
    cosines: Mapping[str, float]
    heads: Mapping[str, float]
    sample: Sequence[Row]


def terms_schema(max_token_length: int, **full_text: float) -> AttributeSchemaParam:
    """Returns the schema of terms. turbopuffer has no Japanese analyzer, so the product sends them."""
    options: Any = {"tokenizer": "pre_tokenized_array", "max_token_length": max_token_length, **full_text}
    return {"type": "[]string", "full_text_search": options}


def schema(dimensions: int, attributes: Mapping[str, AttributeSchemaParam]) -> dict[str, AttributeSchemaParam]:
    """Returns the schema of a namespace with vectors of `dimensions`, and these attributes of rows.

    Vectors of 16-bit floats cost half, and change cosines in the fourth decimal place.
    """
    return {"vector": {"type": f"[{dimensions}]f16", "ann": True}, **_SCHEMA, **attributes}


def documents(row: SearchedRow) -> Iterator[dict[str, Any]]:
    """Returns the documents of a row, one for each passage."""
    for passage, vector in enumerate(row.vectors):
        yield {
            "id": passage_id(row.id, passage),
            "vector": vector,
            "chunk": row.id,
            "passage": passage,
            "generation": row.generation,
            **row.filters,
            **({} if passage else row.texts),
        }


def passage_id(row_id: str, passage: int) -> str:
    return f"{row_id}{_PASSAGE}{passage}" if passage else row_id


def row_of(document: Row) -> str:
    """Returns the id of the row that a document is a passage of."""
    return str(document["id"]).partition(_PASSAGE)[0]


def cosine(document: Row) -> float:
    """Returns the cosine of a document with the question; turbopuffer returns the distance."""
    return 1 - float(document["$dist"])


def ranks(found: Sequence[Row], depth: int) -> dict[str, int]:
    """Returns the ranks of the first `depth` rows by their ids."""
    rows = dict.fromkeys(map(row_of, found))
    return {row: rank for rank, row in zip(range(1, depth + 1), rows, strict=False)}


def cosines(*found: Sequence[Row]) -> dict[str, float]:
    """Returns the greatest cosine of each row among answers of a vector query, which have the nearest first."""
    return {row_of(each): cosine(each) for answer in found for each in reversed(answer)}


def nearest_leg(vector: Vector | None, filters: tuple[Any, ...] | None, depth: int) -> dict[str, Any] | None:
    """Returns the query for the passages of the `depth` nearest rows; None without a vector."""
    return None if vector is None else leg(("vector", "ANN", vector), filters, PASSAGES_A_ROW * depth)


def evidence(
    answers: Callable[[Mapping[str, Any]], Mapping[str, Sequence[Row]]],
    ids: Sequence[str],
    vector: Vector | None,
    nearest: Sequence[Row],
    *,
    attribute: str,
    sample: Sequence[str],
    with_heads: bool = False,
) -> Evidence:
    """Returns what is ranked of rows, in one round trip; `nearest` are the documents whose distances are there already.

    An attribute is much to send, so each row sends it once.
    """
    near = cosines(nearest)
    far = [] if vector is None else [id for id in ids if id not in near]
    answer = answers(
        {
            "rows": ids and rows_named(ids, vector if with_heads else None, include_attributes=[attribute]),
            "far": far and rows_named(far, vector, of="chunk"),
            "sample": ids and sample and vector and rows_named(sample, vector),
        }
    )
    rows = {str(row["id"]): row for row in answer["rows"]}
    heads = {id: cosine(row) for id, row in rows.items()} if with_heads and vector else {}
    return Evidence(rows, near | cosines(answer["far"]), heads, answer["sample"])


def leg(rank_by: tuple[Any, ...], filters: tuple[Any, ...] | None, limit: int) -> dict[str, Any]:
    """Returns the query for the first documents that pass the filters."""
    return {"rank_by": rank_by, "limit": limit, **({"filters": filters} if filters else {})}


def rows_named(ids: Sequence[str], vector: Vector | None, *, of: str = "id", **asked: Any) -> dict[str, Any]:
    """Returns the query for rows by an attribute, with their distances from `vector`, nearest first: kNN is exact."""
    rank_by = ("id", "asc") if vector is None else ("vector", "kNN", vector)
    return {**leg(rank_by, (of, "In", list(ids)), ROWS_AN_ANSWER), **asked}


def requests(rows: Sequence[SearchedRow], max_bytes: int) -> Iterator[list[SearchedRow]]:
    """Returns requests of at most `max_bytes`, with the rows in order; of one id only the greatest generation."""
    return in_portions(_newest(rows), _size, lambda _count, size: size > max_bytes)


def _newest(rows: Sequence[SearchedRow]) -> list[SearchedRow]:
    # turbopuffer rejects a write with the same id twice.
    by_id: dict[str, SearchedRow] = {}
    for row in rows:
        if row.id not in by_id or by_id[row.id].generation <= row.generation:
            by_id[row.id] = row
    return list(by_id.values())


def _size(row: SearchedRow) -> int:
    """Returns about how many bytes of JSON a row takes; a vector is base64 of float32."""
    try:
        texts, filters = (sum(map(_bytes, each.values())) for each in (row.texts, row.filters))
    except UnicodeEncodeError as error:
        raise Invalid(f"{row.id} contains half of a surrogate pair, which is not Unicode text") from error
    return texts + sum(len(vector) * 16 // 3 + filters + _OTHER_BYTES for vector in row.vectors)


def _bytes(value: object) -> int:
    strings = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return sum(len(each.encode()) + 3 for each in strings)


# The documentation of turbopuffer names limits of 1,024 and 8,192 for a full-text query. This is below both.
_MAX_QUERY_CHARACTERS = 1_000

# Far more than questions have; turbopuffer documents no limit.
_MAX_CLAUSES = 128

# The greatest `max_token_length`: turbopuffer drops longer tokens silently. The dictionary takes a string of a thousand
# letters as one word. Stored and queried terms are cut the same way.
TERM_BYTES = 254

# Terms of which the best counts.
Alternatives = tuple[str, ...]


def sent_term(term: str) -> str:
    """Returns a term as it is stored and queried."""
    return term.encode(errors="surrogatepass")[:TERM_BYTES].decode(errors="ignore")


def columns(numbers: Iterable[int], terms: Iterable[str]) -> str:
    """Returns a line with numbers, then the terms as they are stored, a line each. The first may belong to the row.

    One string is returned and read faster than lists.
    """
    return "\n".join([" ".join(map(str, numbers)), *terms])


def numbers_of(stored: object, forms: Mapping[str, str], *, of_row: int = 0) -> tuple[list[int], dict[str, int]]:
    """Returns the numbers in `columns` of the row, and of the terms in `forms`, by their stored form."""
    line, *terms = str(stored).split("\n")
    numbers = line.split(" ")
    of_terms = {forms[term]: int(numbers[of_row + terms.index(term)]) for term in forms.keys() & terms}
    return [*map(int, numbers[:of_row])], of_terms


def stored_forms(terms: Iterable[str]) -> dict[str, str]:
    """Returns terms by their stored form."""
    return {sent_term(term): term for term in terms}


def words_leg(slots: Sequence[Alternatives], text: str) -> tuple[Any, ...] | None:
    """Returns the sum over slots of the best term of each; without slots, a query for the text; None if it is blank.

    The BM25 of several tokens is their sum, so that all slots with one term are one clause.
    """
    selection = list(_until_full(dict.fromkeys(filter(None, map(_sent, slots)))))
    single = [terms[0] for terms in selection if len(terms) == 1]
    clauses: list[tuple[Any, ...]] = [_clause(single)] if single else []
    clauses += [("Max", [_clause([term]) for term in terms]) for terms in selection if len(terms) > 1]
    if clauses:
        return clauses[0] if len(clauses) == 1 else ("Sum", clauses)
    cut = _unicode(text)[:_MAX_QUERY_CHARACTERS]
    return ("content", "BM25", cut) if cut.strip() else None


def _sent(slot: Alternatives) -> Alternatives:
    """Returns the terms of a slot as they are stored."""
    return tuple(dict.fromkeys(sent_term(_unicode(term)) for term in slot))


def _until_full(slots: Mapping[Alternatives, None]) -> Iterator[Alternatives]:
    characters, clauses = 0, 0
    for terms in slots:
        characters += sum(map(len, terms))
        clauses += len(terms)
        if characters > _MAX_QUERY_CHARACTERS or clauses > _MAX_CLAUSES:
            return
        yield terms


def _clause(terms: list[str]) -> tuple[Any, ...]:
    return ("terms", "BM25", terms)


def _unicode(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
