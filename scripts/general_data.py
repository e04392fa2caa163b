"""Makes the data of `benchmarks.general` from a question set in SQuAD's format, such as JSQuAD or XQuAD.

`python -m scripts.general_data FILE.json LANGUAGE FOLDER [QUESTIONS]` writes `table.json`, `site/` and
`queries.jsonl`; with QUESTIONS it keeps so many, the same ones each time.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from random import Random
from typing import Any

_PAGE = (
    '<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title></head>'
    "<body><main><h1>{title}</h1>\n{boxes}\n</main></body></html>\n"
)
_BOX = '<div class="definition" id="def-p{number}"><strong>{title}</strong>\n<p>{text}</p></div>'
# JSQuAD has the title before the paragraph.
_TITLE_END = " [SEP] "
_SEED = 1


def main(squad: Path, language: str, folder: Path, most: int | None) -> None:
    """Writes the folder."""
    articles = json.loads(squad.read_text("utf-8"))["data"]
    (folder / "site").mkdir(parents=True, exist_ok=True)
    table, questions = [], []
    for number, article in enumerate(articles):
        paragraphs = [_without_title(paragraph) for paragraph in article["paragraphs"]]
        texts = [text for text, _ in paragraphs]
        table.append({"title": article["title"], "content": "\n\n".join(texts)})
        (folder / "site" / f"a{number}.html").write_text(_page(language, article["title"], texts), "utf-8")
        questions += _questions(number, paragraphs)
    if most is not None and most < len(questions):
        questions = Random(_SEED).sample(questions, most)  # noqa: S311 - the same ones each time
    (folder / "table.json").write_text(json.dumps({"articles": table}, ensure_ascii=False), "utf-8")
    lines = [json.dumps(question, ensure_ascii=False) + "\n" for question in questions]
    (folder / "queries.jsonl").write_text("".join(lines), "utf-8")


def _without_title(paragraph: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """Returns the text of a paragraph, and its questions with the place of the answer in that text."""
    context: str = paragraph["context"]
    start = context.find(_TITLE_END) + len(_TITLE_END) if _TITLE_END in context else 0
    found = []
    for asked in paragraph["qas"]:
        answer = next((one for one in asked["answers"] if one["answer_start"] >= start), None)
        if answer:
            found.append(
                {"query": asked["question"], "answer": answer["text"], "start": answer["answer_start"] - start}
            )
    return context[start:], found


def _page(language: str, title: str, texts: Sequence[str]) -> str:
    boxes = (_BOX.format(number=place, title=escape(title), text=escape(text)) for place, text in enumerate(texts))
    return _PAGE.format(language=language, title=escape(title), boxes="\n".join(boxes))


def _questions(article: int, paragraphs: Sequence[tuple[str, list[dict[str, Any]]]]) -> Iterator[dict[str, Any]]:
    at = 0
    for place, (text, asked) in enumerate(paragraphs):
        for one in asked:
            start = at + one["start"]
            yield {
                "query": one["query"],
                "json_pointer": f"/articles/{article}/content",
                "start": start,
                "end": start + len(one["answer"]),
                "answer": one["answer"],
                "chunk": f"a{article}#def-p{place}",
            }
        at += len(text) + len("\n\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else None)
