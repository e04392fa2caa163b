"""LanceDB's own hybrid search, run by `benchmarks.baselines` in an environment of its own.

Its one argument is a folder with `texts.json`, `queries.json`, `passages.npy` and `questions.npy`; `rankings.json` is
written there. The words' index has 1- to 3-grams, the best for Japanese of what LanceDB has without a download;
fusion is the default.
"""

import json
import sys
from pathlib import Path

import lancedb
import numpy as np
from lancedb.index import FTS
from lancedb.query import MatchQuery

DEPTH = 50


def main(folder: Path) -> None:
    """Writes the places of each question's best chunks."""
    texts = json.loads((folder / "texts.json").read_text("utf-8"))
    queries = json.loads((folder / "queries.json").read_text("utf-8"))
    passages, questions = np.load(folder / "passages.npy"), np.load(folder / "questions.npy")
    rows = [
        {"place": place, "text": text, "vector": vector}
        for place, (text, vector) in enumerate(zip(texts, passages, strict=True))
    ]
    table = lancedb.connect(folder / "lancedb").create_table("chunks", data=rows)
    words = FTS(
        base_tokenizer="ngram",
        ngram_min_length=1,
        ngram_max_length=3,
        stem=False,
        remove_stop_words=False,
    )
    table.create_index("text", config=words)
    rankings = []
    for query, vector in zip(queries, questions, strict=True):
        search = table.search(query_type="hybrid").vector(vector).text(MatchQuery(query, "text"))
        rankings.append([row["place"] for row in search.limit(DEPTH).to_list()])
    (folder / "rankings.json").write_text(json.dumps(rankings), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
