"""How much an agent reads until it has the answer.

`python -m benchmarks.reading --data DIR [--questions N] LANGUAGE …`, on folders as of `benchmarks.general`.
A question may also have the words of its `answer`; otherwise the last line of the explanation counts. It asks
`search_knowledge` and estimates the tokens of the text until those words have passed in the result of the explanation.
If they are not there, the agent also reads the explanation with get_chunk_by_id.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp_types import CallToolResult, TextContent
from sakuin.mcp.knowledge_tools import KnowledgeTools
from sakuin.retrieval.tokens import estimated_tokens

from benchmarks.general import VECTORS, read_questions
from benchmarks.stack import quantile
from tests.general.cached_model import CachedModel
from tests.general.library import indexed


def main(data: Path, language: str, model: CachedModel, most: int) -> None:
    """Prints the quantiles of a language."""
    questions = [question for question in read_questions(data, language) if question["chunk"]][:most]
    with indexed(data / language / "site", model, vocabulary="") as library:
        tools = KnowledgeTools(library.explain.searches, library.explain.read)
        last_lines = {id: text.rpartition("\n")[2] for id, text in library.texts.items()}
        read = [tokens_to_answer(tools, {"answer": last_lines[one["chunk"]], **one}) for one in questions]
    found = [tokens for tokens, _ in read]
    calls = sum(calls for _, calls in read) / len(read)
    quantiles = ", ".join(f"{name} {quantile(found, q):.0f}" for name, q in (("median", 0.5), ("p95", 0.95)))
    print(f"{language}: {len(read)} questions, tokens to the answer: {quantiles}; calls {calls:.2f}")


def tokens_to_answer(tools: KnowledgeTools, question: Mapping[str, Any]) -> tuple[int, int]:
    """Returns the tokens read until the answer has passed, and the calls."""
    answer, id = (json.dumps(question[name], ensure_ascii=False)[1:-1] for name in ("answer", "chunk"))
    text = _text(tools.call("search_knowledge", {"query": question["query"]}))
    before, name, others = text.partition(f'{{"id":"{id}"')
    until, is_there, _ = others.partition('{"id":')[0].partition(answer)
    if is_there:
        return estimated_tokens(before + name + until + answer), 1
    until, _, _ = _text(tools.call("get_chunk_by_id", {"id": question["chunk"]})).partition(answer)
    return estimated_tokens(text + until + answer), 2


def _text(result: CallToolResult | None) -> str:
    assert result is not None
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("languages", nargs="+")
    given = parser.parse_args(sys.argv[1:])
    for each in given.languages:
        main(given.data, each, CachedModel.in_file(VECTORS), given.questions)
