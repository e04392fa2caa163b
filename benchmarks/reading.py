"""How much an agent reads until it has the answer.

`python -m benchmarks.reading --data DIR [--textbook DIR] [--questions N] [--encoding NAME] LANGUAGE …`, on folders as
of `benchmarks.general` and `benchmarks.learning`. It asks `search_knowledge` and counts the tokens of the text until
the words of the question's `answer` have passed in the result of its explanation, without them until the explanation's
last line. If they are not there, the agent also reads the explanation with get_chunk_by_id. In a textbook it counts
until a section that introduces the term starts. Tokens are those of the product's estimate, or of an encoding of the
package bpe-openai, which is not installed with Sakuin.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from mcp_types import CallToolResult, TextContent
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.retrieval.tokens import estimated_tokens

from benchmarks.general import VECTORS, read_lines, read_questions
from benchmarks.stack import quantile
from tests.general.cached_model import CachedModel
from tests.general.library import indexed

Count = Callable[[str], int]


def of_pages(data: Path, language: str, model: CachedModel, most: int, count: Count) -> None:
    """Prints the quantiles of a language."""
    questions = [question for question in read_questions(data, language) if question["chunk"]][:most]
    with indexed(data / language / "site", model, vocabulary="") as library:
        tools = KnowledgeTools(library.explanations.searches, library.explanations.read)
        last_lines = {id: text.rpartition("\n")[2] for id, text in library.texts.items()}
        read = [tokens_to_answer(tools, {"answer": last_lines[one["chunk"]], **one}, count) for one in questions]
    calls = sum(calls for _, calls in read) / len(read)
    print(f"{language}: {len(read)} questions, {_quantiles([tokens for tokens, _ in read])}; calls {calls:.2f}")


def of_textbook(textbook: Path, language: str, model: CachedModel, most: int, count: Count) -> None:
    """Prints the quantiles of a textbook's definitions whose section is among the results."""
    questions = read_lines(textbook / language / "definitions.jsonl")[:most]
    with indexed(textbook / language / "site", model, vocabulary="") as library:
        tools = KnowledgeTools(library.explanations.searches, library.explanations.read)
        texts = [_text(tools.call("search_knowledge", {"query": one["query"]})) for one in questions]
    starts = [
        min((text.find(f'"id":"{id}"') for id in one["gold"] if f'"id":"{id}"' in text), default=-1)
        for one, text in zip(questions, texts, strict=True)
    ]
    read = [count(text[:at]) for text, at in zip(texts, starts, strict=True) if at >= 0]
    print(f"textbook {language}: {len(read)} of {len(questions)} questions, {_quantiles(read)}")


def tokens_to_answer(tools: KnowledgeTools, question: Mapping[str, Any], count: Count) -> tuple[int, int]:
    """Returns the tokens read until the answer has passed, and the calls."""
    answer, id = (json.dumps(question[name], ensure_ascii=False)[1:-1] for name in ("answer", "chunk"))
    text = _text(tools.call("search_knowledge", {"query": question["query"]}))
    before, name, others = text.partition(f'{{"id":"{id}"')
    until, is_there, _ = others.partition('{"id":')[0].partition(answer)
    if is_there:
        return count(before + name + until + answer), 1
    until, _, _ = _text(tools.call("get_chunk_by_id", {"id": question["chunk"]})).partition(answer)
    return count(text + until + answer), 2


def _quantiles(tokens: list[int]) -> str:
    return ", ".join(f"{name} {quantile(tokens, q):.0f}" for name, q in (("median", 0.5), ("p95", 0.95)))


def _text(result: CallToolResult | None) -> str:
    assert result is not None
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def _count(encoding: str) -> Count:
    if not encoding:
        return estimated_tokens
    encoder = import_module("bpe_openai").get_encoding(encoding)
    return lambda text: len(encoder.encode(text))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--textbook", type=Path)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--encoding", default="", help="as o200k_base of bpe-openai")
    parser.add_argument("languages", nargs="+")
    given = parser.parse_args(sys.argv[1:])
    cached, counted = CachedModel.in_file(VECTORS), _count(given.encoding)
    for each in given.languages:
        if (given.data / each).is_dir():
            of_pages(given.data, each, cached, given.questions, counted)
        if given.textbook and (given.textbook / each).is_dir():
            of_textbook(given.textbook, each, cached, given.questions, counted)
