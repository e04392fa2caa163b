"""`sakuin eval` and `sakuin explain`."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from sakuin.errors import Unavailable
from sakuin_cli.desk import Desk
from sakuin_cli.evaluation.evaluate import Evaluate
from sakuin_cli.explain_from_afar import ExplainFromAfar

from tests.builders import a_page
from tests.cli.conftest import Keeper
from tests.in_memory.desk import desk_of, explanations_of

MATERIAL = "junior/二次方程式の解き方_教材"
FORMULA, SQUARE = f"{MATERIAL}#rule-formula", f"{MATERIAL}#method-square"
PAGE = {
    "rule-formula": "解の公式: 係数を代入して二次方程式を解く公式です。",
    "method-square": "平方完成: 二次式を平方の形に直す方法です。",
    "ex-formula": "例題 解の公式: 解の公式で解きます。",
}
RIGHT = {"query": "解の公式", "gold": [FORMULA], "category": "keyword", "half": "dev"}
WRONG = {"query": "平方完成", "gold": [f"{MATERIAL}#rule-gone"], "category": "keyword", "half": "held-out"}
OFF = {"query": "zzzz", "gold": [], "category": "off-topic", "half": "dev"}


@pytest.fixture
def filled(keeper: Keeper) -> Keeper:
    keeper.world.put(f"{MATERIAL}.html", a_page(PAGE))
    return keeper


def labels(keeper: Keeper, *lines: Mapping[str, Any] | str, name: str = "labels.jsonl") -> Path:
    texts = (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines)
    return keeper.file(name, "\n".join(texts).encode())


def test_the_report_says_what_an_agent_gets_and_why_not(filled: Keeper) -> None:
    said = filled.sakuin("eval", labels(filled, RIGHT, WRONG, OFF))
    assert said.code == 0
    assert said.out.startswith("3 questions to search_knowledge, 2 with an answer, 1 without\n")
    assert "1 no right answer among the first 5" in said.out
    assert f"expected {MATERIAL}#rule-gone" in said.out
    assert "Nothing is indexed under this id." in said.out
    assert "\x1b" not in said.out


def test_figures_are_given_for_each_variant_and_group(filled: Keeper) -> None:
    said = filled.sakuin("eval", labels(filled, RIGHT, WRONG, OFF), "--json").document
    assert set(said["variants"]) == {"agent", "both legs", "words only", "vectors only"}
    agent = said["variants"]["agent"]
    assert list(agent) == ["all", "dev", "held-out", "keyword", "off-topic"]
    assert agent["all"]["recall@5"]["mean"] == 0.5
    assert agent["dev"]["MRR@10"]["mean"] == 1.0
    assert agent["off-topic"]["recognised"]["mean"] == 1.0
    assert [failure["kind"] for failure in said["failures"]] == ["missed"]
    assert (said["comparison"], said["missed"], said["bad_lines"]) == (None, [], [])


def test_ablations_add_a_variant_for_each_rule(filled: Keeper) -> None:
    said = filled.sakuin("eval", labels(filled, RIGHT), "--ablations", "--json").document
    rules = {"notation", "reduction", "rewriting", "typos", "synonyms", "english", "readings"}
    assert {f"without {rule}" for rule in rules} <= set(said["variants"])


def test_one_half_is_measured_alone(filled: Keeper) -> None:
    file = labels(filled, RIGHT, WRONG, OFF)
    assert filled.sakuin("eval", file, "--half", "dev", "--json").document["questions"] == 2
    other = filled.sakuin("eval", file, "--half", "held-out", "--json").document
    assert list(other["variants"]["agent"]) == ["all", "keyword"]


def test_a_bad_line_is_named_and_the_rest_is_measured(filled: Keeper) -> None:
    file = labels(filled, RIGHT, '{"query": 1}', WRONG, {"query": "あ" * 1001, "gold": [FORMULA]})
    said = filled.sakuin("eval", file, "--json")
    assert said.code == 1
    assert said.document["questions"] == 2
    assert [line["line"] for line in said.document["bad_lines"]] == [2, 4]
    assert "line 2 is left out: " in filled.sakuin("eval", file).out


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{\n"])
def test_a_file_without_a_question_is_an_error(filled: Keeper, content: bytes) -> None:
    said = filled.sakuin("eval", filled.file("labels.jsonl", content), "--json")
    assert (said.code, set(said.document)) == (1, {"error"})


def test_a_missed_floor_is_said_and_costs_the_exit_code(filled: Keeper) -> None:
    file = labels(filled, RIGHT, WRONG)
    assert filled.sakuin("eval", file, "--min", "recall@5=0.5", "--max", "refused=0").code == 0
    said = filled.sakuin("eval", file, "--min", "recall@5=0.51")
    assert said.code == 1
    assert said.out.endswith("missed recall@5 ≥ 0.51: 0.500\n")
    gate = filled.file("floors.json", b'{"min": {"keyword:hit@5": 0.9}}')
    missed = filled.sakuin("eval", file, "--gate", gate, "--json").document["missed"]
    assert missed == [{"side": "min", "measure": "hit@5", "value": 0.9, "group": "keyword", "seen": 0.5}]
    assert filled.sakuin("eval", file, "--min", "much").code == 1


def test_two_runs_are_compared_question_by_question(filled: Keeper) -> None:
    file, saved = labels(filled, RIGHT, WRONG), filled.folder / "before.json"
    filled.sakuin("eval", file, "--save", saved)
    filled.world.put("gone.html", a_page({"rule-gone": "平方完成: 平方完成をする。"}))
    corrected = labels(filled, RIGHT, {**WRONG, "gold": [SQUARE]}, name="corrected.jsonl")
    same = filled.sakuin("eval", file, "--compare", saved, "--json").document["comparison"]
    assert (same["left_out"], same["differences"]["recall@5"]["n"]) == (0, 2)
    other = filled.sakuin("eval", corrected, "--compare", saved)
    assert "Against the saved run" in other.out
    assert "2 questions are in one of the two runs only" in other.out
    assert filled.sakuin("eval", file, "--compare", file).code == 1


class Page(HTMLParser):
    """The tags, links and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_page_needs_nothing_from_afar_and_hides_no_markup(filled: Keeper) -> None:
    file, report = labels(filled, RIGHT, {**WRONG, "query": "<b>平方</b>完成"}), filled.folder / "report.html"
    assert filled.sakuin("eval", file, "--html", report, "--min", "hit@5=0.9").code == 1
    text = report.read_text("utf-8")
    page = Page(text)
    assert page.open == []
    assert "<b>平方</b>完成" in page.words
    assert "Missed: hit@5 ≥ 0.9: 0.500" in page.words
    # Links to the chunks that were found, and nothing that a browser would load.
    assert page.links
    assert all(link.startswith(f"/{MATERIAL}.html#") for link in page.links)
    assert not re.search(r"<script|@import|url\(|https?://", text)


@dataclass(frozen=True)
class Unready:
    """Explanations of a Search Tool that is still being indexed."""

    real: Any

    def explain(self, query: str, **how: Any) -> Mapping[str, Any]:
        said: Mapping[str, Any] = self.real.explain(query, **{**how, "tool": None})
        return {**said, "index_state": "indexing"}


def test_a_tool_that_is_still_being_indexed_is_said_to_be(filled: Keeper) -> None:
    unready = Evaluate(Unready(explanations_of(filled.world)), filled.time.sleep)
    desk = replace(desk_of(filled.world, filled.time), evaluate=lambda: unready)
    report = filled.folder / "report.html"
    said = filled.sakuin("eval", labels(filled, RIGHT), "--tool", "search_columns", "--html", report, desk=desk)
    assert "The tool's index is not ready (indexing)" in said.out
    assert "The tool's index is not ready (indexing)" in Page(report.read_text("utf-8")).words


@dataclass
class Shaky:
    """Explanations of a deployment that does not answer the first time."""

    real: Any
    failures: Iterator[bool] = field(default_factory=lambda: iter([True, False, True, True, True]))

    def explain(self, query: str, **how: Any) -> Mapping[str, Any]:
        if next(self.failures, False):
            raise Unavailable("Sakuin does not answer")
        said: Mapping[str, Any] = self.real.explain(query, **how)
        return said


def test_a_deployment_that_stumbles_is_asked_again_and_one_that_is_gone_is_reported(filled: Keeper) -> None:
    desk = desk_of(filled.world, filled.time)
    shaky = replace(desk, evaluate=lambda: Evaluate(stumbling, filled.time.sleep))
    file, stumbling = labels(filled, RIGHT), Shaky(explanations_of(filled.world))
    assert filled.sakuin("eval", file, desk=shaky).code == 1
    assert filled.time.naps == [1.0, 1.0, 3.0]
    stumbling.failures = iter([True, True])
    assert filled.sakuin("eval", file, desk=shaky).code == 0


def test_half_a_search_is_asked_again_and_never_measured(filled: Keeper) -> None:
    desk = desk_of(filled.world, filled.time)
    asking = replace(desk, evaluate=lambda: Evaluate(explanations_of(filled.world), filled.time.sleep))
    filled.world.embedder.down = True
    said = filled.sakuin("eval", labels(filled, RIGHT), desk=asking)
    assert (said.code, filled.time.naps) == (1, [1.0, 3.0])
    assert "only words were compared" in said.err


def test_a_wrong_key_is_a_sentence(filled: Keeper) -> None:
    wrong = explanations_of(filled.world, "sk_sakuin_wrong")
    desk: Desk = replace(desk_of(filled.world, filled.time), explain=lambda: ExplainFromAfar(wrong))
    said = filled.sakuin("explain", "解の公式", desk=desk)
    assert (said.code, said.out) == (1, "")
    assert "SAKUIN_ADMIN_KEY" in said.err


def test_an_explanation_shows_the_question_the_results_and_their_parts(filled: Keeper) -> None:
    said = filled.sakuin("explain", "解の公式", FORMULA)
    assert said.code == 0
    assert said.out.startswith("解の公式\nembedded  ")
    assert "similarity" in said.out
    assert "evidence" in said.out
    assert f"expected  {FORMULA}\n  It is in place 1 (" in said.out
    assert "it is found." in said.out
    assert "\x1b" not in said.out


def test_an_explanation_as_json_is_what_the_deployment_says(filled: Keeper) -> None:
    said = filled.sakuin("explain", "解の公式", FORMULA, "--json").document
    assert set(said) == {"query", "understood", "results", "refused", "threshold", "expected", "index_state"}
    assert said["results"][0]["id"] == FORMULA
    assert said["expected"]["hit"] == said["results"][0]


def test_an_expected_chunk_that_a_filter_leaves_out_is_said_to_be(filled: Keeper) -> None:
    said = filled.sakuin("explain", "解の公式", FORMULA, "--type", "example", "--json").document["expected"]
    assert said["why"] == "The filter type=example leaves it out: its type is rule."
    assert said["hit"] is None


def test_a_refused_question_still_shows_what_was_near(filled: Keeper) -> None:
    said = filled.sakuin("explain", "zzzz", FORMULA)
    assert "An agent gets no answer" in said.out
    assert "the whole answer is refused" in said.out


def test_a_leg_alone_and_a_rule_that_there_is_not(filled: Keeper) -> None:
    words = filled.sakuin("explain", "解の公式", "--legs", "words", "--json").document
    assert all(result["cosine"] is None for result in words["results"])
    vectors = filled.sakuin("explain", "解の公式", "--legs", "vectors", "--json").document
    assert all(result["matched"] == [] for result in vectors["results"])
    assert filled.sakuin("explain", "解の公式", "--without", "magic").code == 2


def test_a_tool_without_an_endpoint_says_which_setting_is_missing(filled: Keeper) -> None:
    said = filled.sakuin("explain", "解の公式", "--tool", "search_columns")
    assert said.code == 1
    assert "SAKUIN_TOOLS_MCP_URL" in said.err
