"""What a large index costs in Postgres: questions, filters, and what maintenance asks each minute.

Synthetic pages of twenty chunks, each with some 300 terms of a Zipf vocabulary, are searched with questions of 8 to 40
terms. Printed is the processor time of the server's process, which other programs on the machine do not change.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import LiteralString, cast

import numpy as np
import psycopg
from sakuin_local.supabase.database import running_database

A_PAGE = 20
DIMENSIONS = 64
QUESTIONS = 20
REPETITIONS = 3
# One chunk in so many has the rare category.
RARE = 5_000
CHUNK_COLUMNS = (
    "id, material, anchor, title, content, learns, learns_source, type, category, level, page_title, prerequisites, "
    "position, content_hash, text_hashes, illustrates, fingerprint, generation"
)
SEARCH: LiteralString = (
    "select search_candidates(%s::text, %s::jsonb, 's', 100, 0, 10000, p_type => %s, p_category => %s)"
)
# What `maintain` and people ask, with what is searched for.
OTHERS: Sequence[tuple[str, LiteralString]] = (
    ("the index versions and what they lack", "select index_version_states()"),
    ("pages to build", "select claim_pages_to_build('r', 900, 500)"),
    ("vectors that no version uses", "select sweep_vectors(2000)"),
    ("pages that wait for learns", "select claim_learns(2, 300)"),
    ("a portion of what is deleted", "select delete_portion(5000)"),
    ("the rows of 10 pages", "select current_rows('p5', 10)"),
    ("texts that nothing has, among 2,000", "select delete_unused_texts(2592000, 2000)"),
    (
        "the vectors that a page lacks",
        "select missing_vectors('s', array(select md5(i::text) from generate_series(1, 99) i))",
    ),
    ("the valid filter values", "select filter_values(50, 'p5')"),
    ("the first 50 concepts", "select count(*) from list_concepts(p_limit => 50)"),
    ("50 concepts of a rare category", "select count(*) from list_concepts(p_limit => 50, p_category => 'rare')"),
    ("the first 50 pages", "select list_materials(50)"),
    ("a text that no page has", "select find_text('no such text', 20, 1.0)"),
)
POSTINGS = """
insert into posting (term, block, chunks, impacts)
select u.term, b.block, array_agg(w.number order by w.number), array_agg(u.impact order by w.number)
from chunk_words w join material m using (material)
cross join lateral posting_block(m.number) as b(block)
cross join lateral unnest(w.terms, w.impacts) as u(term, impact)
group by u.term, b.block
"""
# Five terms of a chunk are in its title.
TITLE_IMPACT, BODY_IMPACT = 26214, 16384
# Pairs of a vector and slots.
Questions = Sequence[tuple[str, str]]


def main(count: int) -> None:
    """Prints processor milliseconds and megabytes."""
    rng = np.random.default_rng(7)
    with (
        tempfile.TemporaryDirectory() as folder,
        running_database(Path(folder, "data")) as database,
        psycopg.connect(database.dsn_postgres, autocommit=True) as sql,
    ):
        sql.execute("set search_path = public, extensions")
        questions = _fill(sql, rng, count)
        print(f"{count} chunks, {QUESTIONS} questions of 8 to 40 terms; median and worst processor time, milliseconds")
        filters = {"": (None, None), " to rules": ("rule", None), f" to one chunk in {RARE}": (None, "rare")}
        for name, values in filters.items():
            _print_times(f"a question{name}", [_milliseconds(sql, SEARCH, (*each, *values)) for each in questions])
        for name, query in OTHERS:
            _print_times(name, [_milliseconds(sql, query) for _ in range(3)])
        words = _megabytes(sql, ["posting", "posting_pkey", "chunk_words"])
        vectors = _megabytes(sql, ["knowledge_vector", "knowledge_vector_embedding", "embedded_text"])
        print(f"{words:,.0f} MB of words, {vectors:,.0f} MB of vectors with their graph")


def _fill(sql: psycopg.Connection, rng: np.random.Generator, count: int) -> Questions:
    """Fills the index; returns questions made of the vectors and some of the terms of some chunks."""
    words = [f"語{number:x}" for number in range(60_000)]
    grams = [f"^{number:x}" for number in range(20_000)]
    _record_version(sql, "f", "s")
    sql.execute("drop index knowledge_vector_embedding")
    questions: list[tuple[str, str]] = []
    drawn = set(rng.choice(count, QUESTIONS, replace=False).tolist())
    for page in range(count // A_PAGE):
        sql.execute(
            "insert into material (material, bucket, key, sequencer, status, indexed_version_id, fingerprint, "
            "chunks_count, complete_spaces) values (%s, 'b', %s, '1', 'ready', 'v', 'f', %s, '{s}')",
            (f"p{page}", f"p{page}.html", A_PAGE),
        )
        topic = rng.normal(size=DIMENSIONS)
        topics = [_zipf(rng, len(words), 260, 8), _zipf(rng, len(grams), 500, 30)]
        chunks: list[tuple[object, ...]] = []
        vectors: list[tuple[object, ...]] = []
        texts: list[tuple[object, ...]] = []
        its_words: list[tuple[object, ...]] = []
        for place in range(A_PAGE):
            number = page * A_PAGE + place
            terms = [words[at] for at in _of_a_chunk(rng, topics[0], len(words), 110, 8)]
            terms += [grams[at] for at in _of_a_chunk(rng, topics[1], len(grams), 210, 30)]
            vector = _vector(topic + rng.normal(size=DIMENSIONS))
            if number in drawn:
                questions.append((vector, _slots(rng.choice(terms, rng.integers(8, 40), replace=False))))
            kind = "ex" if place % 5 == 4 else "rule"
            anchor, hashed = f"{kind}-{number}", f"{number * 7919 % 1_000_003:064x}"
            chunk = f"p{page}#{anchor}"
            chunks.append(
                (
                    *(chunk, f"p{page}", anchor, "名", "文" * 200, ["一", "二", "三"], "rules"),
                    *({"ex": "example"}.get(kind, kind), f"c{number % 12}" if number % RARE else "rare"),
                    *(f"l{page % 3}", f"p{page}", [], place, hashed, [hashed], [], "f", 1),
                )
            )
            vectors.append(("s", hashed, vector))
            texts.append((chunk, "s", hashed))
            impacts = [TITLE_IMPACT] * 5 + [BODY_IMPACT] * (len(terms) - 5)
            its_words.append((chunk, f"p{page}", terms, impacts, True))
        _copied(sql, f"knowledge_chunks ({CHUNK_COLUMNS})", chunks)
        _copied(sql, "knowledge_vector (space, text_hash, embedding)", vectors)
        _copied(sql, "embedded_text (id, space, text_hash)", texts)
        _copied(sql, "chunk_words (id, material, terms, impacts, is_current)", its_words)
    sql.execute(POSTINGS)
    sql.execute("set maintenance_work_mem = '2GB'")
    sql.execute("create index knowledge_vector_embedding on knowledge_vector using hnsw (embedding halfvec_cosine_ops)")
    sql.execute("vacuum analyze")
    return questions


def _record_version(sql: psycopg.Connection, fingerprint: str, space: str) -> None:
    pages = {"fingerprint": fingerprint, "space": space, "model": "m", "dimensions": 1536, "query_prefix": ""}
    pages |= {"passage_prefix": "", "text_template": "r", "analyzer": "a", "vocabulary": ""}
    version = {"fingerprint": fingerprint, "parts": {}, "knowledge": pages, "tables": "f", "table_space": "s"}
    sql.execute("select record_index_version(%s)", (json.dumps(version),))


def _copied(sql: psycopg.Connection, into: str, rows: Sequence[tuple[object, ...]]) -> None:
    with sql.cursor().copy(cast(LiteralString, f"copy {into} from stdin")) as copy:
        for row in rows:
            # psycopg takes ten times as long for the members of a list.
            copy.write_row([f"{{{','.join(map(str, each))}}}" if isinstance(each, list) else each for each in row])


def _of_a_chunk(rng: np.random.Generator, topic: np.ndarray, size: int, count: int, flat: int) -> list[int]:
    """Half of a page's topic, half of the whole vocabulary, without repetition."""
    return sorted({*rng.choice(topic, count // 2).tolist(), *_zipf(rng, size, count // 2, flat).tolist()})


def _zipf(rng: np.random.Generator, size: int, count: int, flat: int) -> np.ndarray:
    return np.searchsorted(_shares(size, flat), rng.random(count))


@cache
def _shares(size: int, flat: int) -> np.ndarray:
    shares = np.cumsum(1 / (np.arange(size) + flat))
    return shares / shares[-1]


def _vector(direction: np.ndarray) -> str:
    numbers = (direction / np.linalg.norm(direction)).tolist()
    return "[" + ",".join(f"{number:.4g}" for number in numbers) + ",0" * (1536 - DIMENSIONS) + "]"


def _slots(terms: Sequence[str]) -> str:
    return json.dumps([{"terms": [term]} for term in terms])


def _milliseconds(sql: psycopg.Connection, query: LiteralString, arguments: Sequence[object] = ()) -> float:
    """Processor time of a query that was asked once before."""
    sql.execute(query, arguments)
    began = _processor_seconds(sql.info.backend_pid)
    for _ in range(REPETITIONS):
        sql.execute(query, arguments)
    return (_processor_seconds(sql.info.backend_pid) - began) * 1000 / REPETITIONS


def _print_times(name: str, times: Sequence[float]) -> None:
    print(f"{name:<40} {median(times):8.0f} {max(times):8.0f}")


def _processor_seconds(process: int) -> float:
    """What a process has used (Linux: scheduler/sched-stats.rst)."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9


def _megabytes(sql: psycopg.Connection, names: Sequence[str]) -> float:
    sizes = "select sum(pg_table_size(name::regclass)) / 1e6 from unnest(%s::text[]) name"
    return float(sql.execute(sizes, [names]).fetchall()[0][0])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
