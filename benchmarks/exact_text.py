"""What a scan for exact text costs: explanations in a second, for texts and for expressions that explode elsewhere.

Generated are explanations of four lines with about 425 characters, half of them in Japanese. No page has what is
searched for, so that each scan reads all or ends after its second.
"""

import random
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import psycopg
from sakuin.retrieval.line_pattern import exact_pattern, postgres_pattern
from sakuin_local.supabase.database import running_database

A_PAGE = 20
ENGLISH = ["the", "quadratic", "formula", "solves", "equation", "of", "second", "degree", "with", "coefficients"]
JAPANESE = ["二次方程式", "の", "解", "を", "公式", "に", "代入", "すると", "。", "係数", "が", "整数", "因数分解"]
EXPRESSIONS = (
    *(r"\bneedles?\b.*\d{3}", r"(.*)*#", r"([a-z]+)*[0-9]#", r"(a|b|ab)*a[a-z]{100}#", r"(.{1,20}e){1,10}#"),
    *(r"[a-z]{250}#", r"[^q]{1,250}#", r".*a.{100}b.{100}#", r"(x|.*y){40}#", "(?:[あ-ん一-龠]+)+z"),
)
COLUMNS = (
    "id, material, anchor, position, title, content, learns, learns_source, type, page_title, prerequisites, "
    "illustrates, content_hash, text_hashes, fingerprint, generation"
)


def main(count: int) -> None:
    """Prints the median of five scans and the explanations that one read, without a limit and of one second."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_database(Path(folder, "data")) as database,
        psycopg.connect(database.dsn_postgres, autocommit=True) as sql,
    ):
        sql.execute("set search_path = public, extensions")
        _fill(sql, count)
        texts = [("“needle in a haystack”", exact_pattern("needle in a haystack"))]
        texts.append(("「二次方程式の針」", exact_pattern("二次方程式の針")))
        for name, pattern in (*texts, *((each, postgres_pattern(each)) for each in EXPRESSIONS)):
            print(f"{name}: {_scans(sql, pattern, 100.0)}; within a second {_scans(sql, pattern, 1.0)}", flush=True)
        sql.execute("update knowledge_chunks set content = repeat(content, 2500) where id = 'f0/p0#def-0'")
        print(f"a million characters, {EXPRESSIONS[7]}: {_scans(sql, postgres_pattern(EXPRESSIONS[7]), 1.0, 'f0/p0')}")


def _scans(sql: psycopg.Connection, pattern: str, seconds: float, material: str | None = None) -> str:
    took: list[float] = []
    read = 0
    for _ in range(5):
        began = time.perf_counter()
        row = sql.execute(
            "select find_text(%s, 20, %s, p_material => %s)->'read'", (pattern, seconds, material)
        ).fetchone()
        took.append(time.perf_counter() - began)
        read = row[0] if row else 0
    return f"{median(took) * 1000:,.0f} ms, {read:,} explanations"


def _fill(sql: psycopg.Connection, count: int) -> None:
    rng = random.Random(1)
    sql.execute("insert into page_index_version values ('f', 's', 'm', 1536, '', '', 't', 'a', 'v')")
    pages = [f"f{number % 50}/p{number}" for number in range(count // A_PAGE)]
    with sql.cursor().copy("copy material (material, bucket, key, sequencer, status) from stdin") as rows:
        for page in pages:
            rows.write_row((page, "b", f"{page}.html", "", "ready"))
    with sql.cursor().copy(f"copy knowledge_chunks ({COLUMNS}) from stdin") as rows:
        for page in pages:
            for place in range(A_PAGE):
                words, space, length = (JAPANESE, "", 45) if place % 2 else (ENGLISH, " ", 20)
                text = "\n".join(space.join(rng.choices(words, k=length)) for _ in range(4))
                named = (f"{page}#def-{place}", page, f"def-{place}", place, f"Title {place}", text)
                rows.write_row((*named, ["a", "b", "c"], "author", "definition", "P", [], [], "h", ["h"], "f", 1))
    sql.execute("vacuum analyze")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
