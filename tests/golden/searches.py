"""Every question, asked of both products, each answer as its ranking and digests of the rest."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.golden.compare import RANKING
from tests.golden.deployment import Answer, Deployment
from tests.golden.files import Entries
from tests.golden.normalise import Normaliser

QUESTIONS = Path(__file__).parent / "questions.jsonl"
TOOL = "search_columns"
TOP_K = (1, 5, 50)
# As many as the local stack serves at once.
AT_ONCE = 3
_DIGEST = 8
_INDEXINGS = 20
_LONG_TIME = re.compile(r"\.\d{6}[+Z]")
# Members of a result that its id decides.
_OF_THE_ID = frozenset({"material", "title", "type", "url"})


@dataclass(frozen=True, slots=True)
class Question:
    """A question; `filters` are arguments that `search_knowledge` alone takes."""

    query: str
    filters: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Returns the question's name in the recording."""
        filters = json.dumps(self.filters, ensure_ascii=False)
        return f"{self.query} {filters}" if self.filters else self.query


def questions() -> list[Question]:
    """Reads all of them, in the order of the file."""
    read = (json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines())
    return [Question(each["query"], each.get("filters", {})) for each in read]


def knowledge(deployment: Deployment) -> Entries:
    """Returns the answers of `search_knowledge`."""
    normaliser = deployment.normaliser()

    def asked(question: Question, top_k: int) -> Entries:
        arguments = {"query": question.query, "top_k": top_k, **question.filters}
        result = deployment.call("search_knowledge", arguments)
        return search_entry(result, normaliser, lambda each: (each["id"], each["similarity"]))

    return dict(_answers(questions(), asked))


def tables(deployment: Deployment) -> Entries:
    """Returns the answers of the sample's Search Tool."""
    normaliser = deployment.normaliser()
    _index_at_a_long_time(deployment)

    def asked(question: Question, top_k: int) -> Entries:
        arguments = {"query": question.query, "top_k": top_k}
        result = deployment.call(TOOL, arguments, url=deployment.tools_url, key=deployment.tools_key)
        return search_entry(result, normaliser, lambda each: (_chunk_id(each["chunk"]), each["score"]))

    return dict(_answers([each for each in questions() if not each.filters], asked))


def _answers(asked: list[Question], ask: Callable[[Question, int], Entries]) -> Iterator[tuple[str, Entries]]:
    pairs = [(question, top_k) for question in asked for top_k in TOP_K]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = pool.map(lambda pair: ask(*pair), pairs)
        for (question, top_k), answer in zip(pairs, answers, strict=True):
            yield f"{question.name} [{top_k}]", answer


def _index_at_a_long_time(deployment: Deployment) -> None:
    """Indexes the Tool again until it was done at a time that is written with all six digits after the second.

    An answer holds as many results as fit into its bytes, this time among them, which one in ten times is shorter.
    """
    [tool] = deployment.api("GET", f"/v1/projects/{deployment.environment['SAKUIN_PROJECT']}/tools")["tools"]
    path = f"/v1/tools/{tool['id']}"
    for _ in range(_INDEXINGS):
        if _LONG_TIME.search(deployment.api("GET", path)["metadata"]["search_index"]["indexed_at"]):
            break
        deployment.api("POST", f"{path}/reindex")
        deployment.wait_for_tool(tool["id"])


def _chunk_id(chunk: Mapping[str, Any]) -> str:
    return f"{chunk['json_pointer']} {chunk['chunk_index']}"


def search_entry(result: Answer, normaliser: Normaliser, ranked: Callable[[Answer], tuple[str, float]]) -> Entries:
    """Returns an answer as its ranking, its short members, and a digest of each member of its results."""
    if result.get("isError"):
        return {"error": normaliser.value(result["content"])}
    answer = dict(result["structuredContent"])
    results = answer.pop("results")
    answer.pop("query")
    return {
        RANKING: {id: round(score, 4) for id, score in map(ranked, results)},
        **normaliser.value(answer),
        "digests": {name: digest(values) for name, values in _by_member(results, normaliser).items()},
        **({} if _as_text(result) == result["structuredContent"] else {"text": "is not the structured answer"}),
    }


def _by_member(results: list[Answer], normaliser: Normaliser) -> dict[str, list[Any]]:
    """Returns the values of each member but id and score; those that the id decides are one member."""
    members: dict[str, list[Any]] = {}
    for result in results:
        for name in sorted(result.keys() - {"id", "score", "similarity"}):
            known = "material, title, type, url" if name in _OF_THE_ID else name
            members.setdefault(known, []).append(normaliser.value(result[name], name))
    return members


def _as_text(result: Answer) -> Any:
    return json.loads(result["content"][0]["text"])


def digest(value: Any) -> str:
    """Returns the beginning of the SHA-256 of a JSON value."""
    written = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
