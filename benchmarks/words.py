"""What the words of a question cost in Postgres: postings beside the array of terms that they took the place of.

Synthetic pages of twenty chunks, each with some 300 terms of a Zipf vocabulary, go into a database of the migrations
from before; the same questions are asked there, then of the same database after the migrations that follow. What is
compared is the processor time of the server's process: other programs on the machine do not change it.
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import LiteralString, cast

import numpy as np
import psycopg
from sakuin.domain.similarity import calibration_of
from sakuin_local.database import running_database
from sakuin_local.migrations import apply_migrations
from sakuin_local.places import MIGRATIONS

LAST_BEFORE = "20261122000003"
A_PAGE = 20
DIMENSIONS = 64
QUESTIONS = 20
CALIBRATION = json.dumps({**calibration_of("multilingual-e5-small").as_json(), "body_weight": 0.6})
SPACE = "select space from index_fingerprint"
Rows = Sequence[tuple[Sequence[str], str]]


def main(count: int) -> None:
    """Prints processor milliseconds a question and megabytes, before and after, and the ratio."""
    rng = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder, "before")
        before.mkdir()
        for file in MIGRATIONS.glob("*.sql"):
            if file.stem.split("_")[0] <= LAST_BEFORE:
                shutil.copy(file, before)
        with (
            running_database(Path(folder, "data"), before) as database,
            psycopg.connect(database.dsn_postgres, autocommit=True) as sql,
        ):
            sql.execute("set search_path = public, extensions")
            questions = _filled(sql, rng, count)
            print(f"{count} chunks, {QUESTIONS} questions of 8 to 40 terms")
            old = _measured(sql, questions, _as_before)
            print(f"array and GIN   {old:8.1f} ms   {_megabytes(sql, ['knowledge_chunks_terms']):6.0f} MB of index")
            began = time.monotonic()
            apply_migrations(database.dsn_postgres, MIGRATIONS)
            print(f"migrated in     {time.monotonic() - began:8.1f} s")
            sql.execute("analyze")
            space = str(_one(sql, SPACE))
            new = _measured(sql, questions, lambda terms, vector: _as_now(terms, vector, space))
            megabytes = _megabytes(sql, ["posting", "posting_pkey", "chunk_words"])
            print(f"postings        {new:8.1f} ms   {megabytes:6.0f} MB of tables and index")
            print(f"ratio           {old / new:8.1f}")


def _filled(sql: psycopg.Connection, rng: np.random.Generator, count: int) -> Rows:
    """Fills the index; gives questions made of the terms of some chunks, and vectors near theirs."""
    words = [f"語{number:x}" for number in range(60_000)]
    grams = [f"~{number:x}" for number in range(20_000)]
    sql.execute("insert into index_fingerprint values ('f', 'm', 1536, '', '', 'r', 'a')")
    questions: list[tuple[Sequence[str], str]] = []
    drawn = set(rng.choice(count, QUESTIONS, replace=False).tolist())
    for page in range(count // A_PAGE):
        sql.execute(
            "insert into material (material, bucket, key, sequencer, status, fingerprint, chunks_count) "
            "values (%s, 'b', %s, '1', 'ready', 'f', %s)",
            (f"p{page}", f"p{page}.html", A_PAGE),
        )
        topic = rng.normal(size=DIMENSIONS)
        topics = [_zipf(rng, len(words), 260, 8), _zipf(rng, len(grams), 500, 30)]
        with sql.cursor().copy(
            "copy knowledge_chunks (id, material, anchor, title, content, learns, learns_source, type, embedding, "
            "prerequisites, position, content_hash, text_hash, illustrates, terms, title_terms, fingerprint, "
            "generation) from stdin"
        ) as copy:
            for place in range(A_PAGE):
                number = page * A_PAGE + place
                terms = [words[at] for at in _of_a_chunk(rng, topics[0], len(words), 110, 8)]
                terms += [grams[at] for at in _of_a_chunk(rng, topics[1], len(grams), 210, 30)]
                vector = _vector(topic + rng.normal(size=DIMENSIONS))
                if number in drawn:
                    questions.append((list(rng.choice(terms, rng.integers(8, 40), replace=False)), vector))
                kind = "ex" if place % 5 == 4 else "rule"
                anchor, hashed = f"{kind}-{number}", f"{number * 7919 % 1_000_003:064x}"
                copy.write_row(
                    (
                        *(f"p{page}#{anchor}", f"p{page}", anchor, "名", "文" * 200, ["一", "二", "三"], "written"),
                        *({"ex": "example"}.get(kind, kind), vector, [], place, hashed, hashed, [], terms, terms[:5]),
                        *("f", 1),
                    )
                )
    sql.execute("vacuum analyze")
    return questions


def _of_a_chunk(rng: np.random.Generator, topic: np.ndarray, size: int, count: int, flat: int) -> list[int]:
    """Half of a page's topic, half of the whole vocabulary, without repetition."""
    return sorted({*rng.choice(topic, count // 2).tolist(), *_zipf(rng, size, count // 2, flat).tolist()})


def _zipf(rng: np.random.Generator, size: int, count: int, flat: int) -> np.ndarray:
    shares = np.cumsum(1 / (np.arange(size) + flat))
    return np.searchsorted(shares / shares[-1], rng.random(count))


def _vector(direction: np.ndarray) -> str:
    numbers = direction / np.linalg.norm(direction)
    return "[" + ",".join([*(f"{number:.4f}" for number in numbers), *["0"] * (1536 - DIMENSIONS)]) + "]"


def _as_before(terms: Sequence[str], vector: str) -> tuple[LiteralString, tuple[object, ...]]:
    return (
        "select * from search_knowledge(%s::vector, %s, 'f', 5, %s::jsonb)",
        (vector, list(terms), CALIBRATION),
    )


def _as_now(terms: Sequence[str], vector: str, space: str) -> tuple[LiteralString, tuple[object, ...]]:
    slots = [
        {"kind": "reading" if term.startswith("~") else "word", "terms": [{"term": term, "weight": 1}]}
        for term in terms
    ]
    return (
        "select * from search_knowledge(%s::vector, %s::jsonb, %s, 5, %s::jsonb)",
        (vector, json.dumps(slots), space, CALIBRATION),
    )


def _measured(
    sql: psycopg.Connection,
    questions: Rows,
    call: Callable[[Sequence[str], str], tuple[LiteralString, tuple[object, ...]]],
) -> float:
    """Milliseconds of processor time a question, after each was asked once."""
    for terms, vector in questions:
        sql.execute(*call(terms, vector))
    began = _processor_seconds(sql)
    for terms, vector in questions:
        sql.execute(*call(terms, vector))
    return (_processor_seconds(sql) - began) * 1000 / len(questions)


def _processor_seconds(sql: psycopg.Connection) -> float:
    """What the server's process of this connection has used, in steps of 10 ms (Linux: proc_pid_stat(5))."""
    fields = Path(f"/proc/{sql.info.backend_pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def _megabytes(sql: psycopg.Connection, names: Sequence[str]) -> float:
    total = 0
    for name in names:
        total += int(str(_one(sql, cast(LiteralString, f"select pg_table_size('public.{name}')"))))
    return total / 1e6


def _one(sql: psycopg.Connection, query: LiteralString) -> object:
    return sql.execute(query).fetchall()[0][0]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
