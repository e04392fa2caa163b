"""Links, benchmarks, costs, metrics, runbooks, guides and promises in the documents."""

import re
import runpy
import sys
import tomllib
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest
from sakuin.limits import Limits
from sakuin.platform.openai.models import VENDORS, ModelFacts, model_facts
from sakuin.platform.secrets import Secrets

from benchmarks.__main__ import ALONE, ON_A_STACK
from tests.test_specs import all_proofs
from tests.test_template import TEMPLATE, metrics_of, resources

ROOT = Path(__file__).resolve().parent.parent

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")])

LINK = re.compile(r"\[[^\]\n]*\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)")

CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


@cache
def generated() -> dict[Path, str]:
    """The pages of the site that `make docs` generates, by the place that links to them name."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        pages = runpy.run_path(str(ROOT / "scripts" / "reference"))["pages"]()
    finally:
        sys.path.pop(0)
    return {ROOT / "docs" / "reference" / path.name: text for path, text in pages.items()}


@cache
def headings(document: Path) -> set[str]:
    """The anchors that a Markdown viewer gives to a document's headings."""
    text = generated().get(document) or document.read_text("utf-8")
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_link_leads_to_a_file_and_a_heading_that_are_there() -> None:
    texts = {document: document.read_text("utf-8") for document in DOCUMENTS} | generated()
    for document, text in texts.items():
        for target, heading in LINK.findall(CODE.sub("", text)):
            file = (document.parent / target).resolve() if target else document
            assert file.exists() or file in generated(), f"{document}: {target}"
            if heading and file.suffix == ".md":
                assert heading in headings(file), f"{document}: {target}#{heading}"


def test_every_document_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    ahead = [ROOT / "README.md", ROOT / "docs" / "README.md"]
    while ahead:
        document = ahead.pop()
        if document in reached or document in generated() or document.suffix != ".md":
            continue
        reached.add(document)
        targets = [target for target, _ in LINK.findall(document.read_text("utf-8")) if target]
        files = [(document.parent / target).resolve() for target in targets]
        ahead += [file for path in files for file in ([path] if path.is_file() else path.glob("*.md"))]
    assert {document for document in DOCUMENTS if ROOT / "docs" in document.parents} <= reached


COST = "\n".join((ROOT / "docs" / name / "cost.md").read_text("utf-8") for name in ("measurements", "reference"))
# A line of a table: its first cell, and the others, of which the first are numbers.
ROWS = re.findall(r"^\| ([^|\n]+?) \| (.+) \|$", COST, re.MULTILINE)


FIGURES = {
    name: float(value.replace(",", "")) for name, value in re.findall(r"^\| `(\w+)` \| ([\d.,]+) \|", COST, re.M)
}


def test_the_models_are_those_of_the_product() -> None:
    models = tomllib.loads(VENDORS.read_text(encoding="utf-8"))["model"]
    expected = {
        f"`{model['name']}`": [
            f"{model['usd_read']:g}",
            f"{model['usd_written']:g}" if "usd_written" in model else "",
            f"{model['shutdown']}, then `{model['replacement']}`" if "shutdown" in model else "no end announced",
            model["source"],
            model["read"],
        ]
        for model in models
    }
    written = {name: [cell.strip() for cell in cells.split("|")] for name, cells in ROWS if name in expected}
    assert written == expected


NAMING = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]

SMALLEST = {**ALONE, **ON_A_STACK}


def named(text: str) -> set[str]:
    return set(re.findall(r"\bbenchmarks\.([a-z_]+)\b", text))


def test_every_benchmark_that_a_document_names_is_run() -> None:
    names = set().union(*(named(document.read_text("utf-8")) for document in NAMING))
    assert names - SMALLEST.keys() == set()


def test_the_list_of_benchmarks_is_whole() -> None:
    listed = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    assert set(re.findall(r"^\| `\S+ -m benchmarks\.([a-z_]+)", listed, re.MULTILINE)) == SMALLEST.keys()


@pytest.mark.parametrize("name", sorted(SMALLEST))
def test_what_is_run_is_a_program_that_says_what_it_measures(name: str) -> None:
    source = (ROOT / "benchmarks" / f"{name}.py").read_text("utf-8")
    assert source.startswith('"""')
    assert '\nif __name__ == "__main__":\n' in source


ALARMS = resources("AWS::CloudWatch::Alarm")

METRICS = (ROOT / "docs" / "reference" / "metrics.md").read_text("utf-8")

LISTED = {name for row in re.findall(r"^\| (`.*?) \|", METRICS, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}

SOURCES = "\n".join(
    path.read_text("utf-8") for path in sorted(Path(ROOT / "layers" / "sakuin" / "sakuin").rglob("*.py"))
)

COUNTED = set(re.findall(r'(?:add_metric|\bmeter\.count)\(\s*"(\w+)"', SOURCES))


def test_every_metric_that_the_functions_count_by_a_literal_name_is_listed() -> None:
    assert len(COUNTED) > 15
    assert set() == COUNTED - LISTED


def test_the_cost_counts_as_many_metrics() -> None:
    # Durations by the kind of function; those of searches are listed.
    legs = [*(f"Index{name}" for name in ("Embedding", "Database", "Store", "Learns")), "ApiDatabase", "ApiStore"]
    listed = len(LISTED) + len([*legs, "MaintainDatabase", "MaintainStore"])
    assert abs(FIGURES["metrics"] - listed) <= 3


SIZES = (100, 10_000, 1_000_000)


def defaults(parameter: str) -> ModelFacts:
    """Returns the facts of the model that a parameter of the template names by default."""
    return model_facts(TEMPLATE["Parameters"][parameter]["Default"])


def of_openai(kind: str, chunks: float, searches: float) -> float:
    """Returns the dollars that OpenAI takes for chunks and searches, by the figures, with the default models."""
    embeds, writes = defaults("EmbeddingModel"), defaults("LearnsModel")
    assert embeds.usd_read
    questions = searches * FIGURES["tokens_a_question"] * embeds.usd_read
    if kind == "Tables":
        return (questions + chunks * FIGURES["tokens_a_table_chunk"] * embeds.usd_read) / 1e6
    assert writes.usd_read
    assert writes.usd_written
    read = FIGURES["tokens_a_chunk"] + FIGURES["learns_call_tokens"] / FIGURES["chunks_a_learns_call"]
    written = FIGURES["learns_tokens_a_chunk"] * writes.usd_written
    a_chunk = 2 * FIGURES["tokens_a_chunk"] * embeds.usd_read + read * writes.usd_read + written
    return (questions + chunks * a_chunk) / 1e6


def rows_of(heading: str) -> dict[str, list[float]]:
    """Returns the lines of the table below a heading."""
    (part,) = re.findall(rf"^## {heading}\n(.*?)\n## ", COST, re.M | re.S)
    rows = re.findall(r"^\| \W*([^|*]+?)\W* \| ([\d.,*| ]+) \|$", part, re.M)
    return {name: [float(cell.strip("* ").replace(",", "")) for cell in cells.split("|")] for name, cells in rows}


@pytest.mark.parametrize(("kind", "heading"), [("pages", "A library of pages"), ("Tables", "Tables")])
def test_a_month_is_computed_with_the_default_models(kind: str, heading: str) -> None:
    rows = rows_of(heading)
    computed = [of_openai(kind, FIGURES["changed_share"] * size, size) for size in SIZES]
    assert rows.pop("OpenAI") == [pytest.approx(usd, abs=0.006) for usd in computed]
    first = rows.pop("the first index, once")
    assert all(usd >= of_openai(kind, size, 0) - 0.006 for usd, size in zip(first, SIZES, strict=True))
    sums = rows.pop("A month")
    assert sums == [
        pytest.approx(sum(column) + usd, abs=0.05)
        for column, usd in zip(zip(*rows.values(), strict=True), computed, strict=True)
    ]


def test_a_day_of_a_public_library_is_computed_with_the_default_model() -> None:
    rows = rows_of("A public library")
    price = defaults("EmbeddingModel").usd_read
    assert rows["OpenAI"] == [pytest.approx(Limits().public_daily_tokens * (price or 0) / 1e6, abs=0.006)]
    assert rows.pop("A day") == [pytest.approx(sum(usd for (usd,) in rows.values()), abs=0.05)]


def test_alarms_and_the_dashboard_read_only_listed_metrics() -> None:
    shown = set(re.findall(r'\["Sakuin", "(\w+)"', (ROOT / "template.yaml").read_text("utf-8")))
    legs = {re.sub(r"^(Index|Api|Maintain)(?=Embedding|Database|Store)", "Search", name) for name in shown}
    watched = [metric for alarm in ALARMS.values() for metric in metrics_of(alarm) if metric["Namespace"] == "Sakuin"]
    assert shown
    assert watched
    assert legs | {metric["MetricName"] for metric in watched} <= LISTED


DOCUMENT = (ROOT / "docs" / "runbooks.md").read_text(encoding="utf-8")

# The sections after these two are those of alarms, named as links name them.
FIRST = ("without-an-alarm", "tracing-one-piece-of-work")

SECTIONS = {
    title.lower().replace(" ", "-"): text
    for title, text in re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", DOCUMENT, re.MULTILINE | re.DOTALL)
}

COMMANDS = ("npx", "sakuin", "sam")

TEMPLATES = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "layers" / "sakuin").rglob("*.py")))

HEADINGS = ("**What it means.**", "**Look here.**", "**Do this.**", "**How to know it is over.**")


def test_every_alarm_names_a_section_that_the_table_lists_with_it_and_every_section_has_an_alarm() -> None:
    named = {}
    for name, alarm in ALARMS.items():
        found = re.search(r"docs/runbooks\.md#([a-z-]+)$", alarm["AlarmDescription"])
        assert found, alarm["AlarmDescription"]
        named[name] = found[1]
        assert re.search(rf"^\| \[{found[1]}\]\(#{found[1]}\) .*`{name}`", DOCUMENT, re.MULTILINE), name
    assert {*named.values(), *FIRST} == set(SECTIONS)


def test_the_page_names_no_other_alarm_and_no_other_section() -> None:
    assert set(re.findall(r"`(Sakuin\w+Alarm)`", DOCUMENT)) == set(ALARMS)
    assert set(re.findall(r"\]\(#([a-z-]+)\)", DOCUMENT)) <= set(SECTIONS)


@pytest.mark.parametrize("name", sorted(SECTIONS.keys() - set(FIRST)))
def test_a_section_says_what_it_means_where_to_look_what_to_do_and_when_it_is_over(name: str) -> None:
    assert re.findall(r"^\*\*[A-Z][^*]*\.\*\*", SECTIONS[name], re.MULTILINE) == list(HEADINGS)


def test_the_page_names_only_lines_that_the_product_logs() -> None:
    quoted = re.findall(r"`([a-z]+(?: [a-z]+)+)`", "".join(SECTIONS[name] for name in SECTIONS.keys() - set(FIRST)))
    lines = {each for each in quoted if each.split()[0] not in COMMANDS}
    assert {each for each in lines if f'"{each}' not in TEMPLATES} == set()


PROMISES = [
    ROOT / "SECURITY.md",
    ROOT / "docs" / "how-to" / "rotation.md",
    ROOT / "docs" / "explanation" / "reliability.md",
]

NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
# Every module of these is about a promise.
FOLDERS = ("tests/isolation", "tests/hostile")

MODULES = (
    "tests/test_rotation.py",
    "tests/platform/test_keys.py",
    "tests/test_planted_secrets.py",
    "tests/test_locks.py",
)


@pytest.mark.parametrize("document", PROMISES, ids=lambda path: path.name)
def test_every_test_that_is_named_is_there(document: Path) -> None:
    nodes = {proof.node for proof in all_proofs()}
    modules = {node.partition("::")[0] for node in nodes}
    named = NAMED.findall(document.read_text(encoding="utf-8"))
    assert named
    for module, test in named:
        assert module in modules, module
        assert not test or f"{module}::{test}" in nodes, test


@pytest.mark.parametrize("document", [PROMISES[0], PROMISES[2]], ids=lambda path: path.name)
def test_every_promise_names_a_test(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    promises = text.partition("## Promises")[2].partition("\n## ")[0]
    rows = [line for line in promises.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 10
    assert [row for row in rows if not NAMED.search(row) and not any(f"`{folder}/`" in row for folder in FOLDERS)] == []


def test_every_module_about_security_is_named() -> None:
    text = PROMISES[0].read_text(encoding="utf-8")
    assert {folder for folder in FOLDERS if f"`{folder}/`" not in text} == set()
    assert set(MODULES) <= {module for module, _ in NAMED.findall(text)}


GUIDES = "\n".join(
    (ROOT / "docs" / name).read_text() for name in ("how-to/deploy.md", "how-to/backup.md", "reference/cost.md")
)


def test_every_parameter_that_is_named_is_one() -> None:
    (step,) = re.findall(r"## 7\. .*?\n## ", GUIDES, re.DOTALL)
    named = set(re.findall(r"^\| `([A-Z]\w+)` \|", step, re.MULTILINE))
    config = tomllib.loads((ROOT / "samconfig.toml").read_text())
    assert named == set(config["prod"]["deploy"]["parameters"]["parameter_overrides"])
    assert named <= set(TEMPLATE["Parameters"])


# As AWS names them, where its types of resources have shorter or other names.
SERVICES = {"Serverless": "Lambda", "ApiGatewayV2": "API Gateway", "Events": "EventBridge", "Logs": "CloudWatch Logs"}


def test_the_rights_name_every_service_that_the_template_uses() -> None:
    (rights,) = re.findall(r"### Rights of the user\n(.*?)\n## ", GUIDES, re.DOTALL)
    types = {each["Type"].split("::")[1] for each in TEMPLATE["Resources"].values()}
    assert {name for name in types if SERVICES.get(name, name) not in rights} == set()


def test_a_deployment_asks_at_most_ten_questions() -> None:
    deploy = tomllib.loads((ROOT / "samconfig.toml").read_text())["prod"]["deploy"]["parameters"]
    answers = deploy["parameter_overrides"]
    assert len(answers) + len({"stack_name", "region"} & deploy.keys()) <= 10
    assert {name for name, one in TEMPLATE["Parameters"].items() if "Default" not in one} <= answers.keys()


def test_the_names_of_stacks_fit_into_those_of_their_buckets() -> None:
    config = tomllib.loads((ROOT / "samconfig.toml").read_text())
    bucket = TEMPLATE["Resources"]["SakuinMaterialsBucket"]["Properties"]["BucketName"]["Fn::Sub"]
    rest = bucket.replace("${AWS::StackName}", "").replace("${AWS::AccountId}", "1" * 12)
    longest = 63 - len(rest.replace("${AWS::Region}", "ap-northeast-1"))
    assert f"at most {longest} lower-case letters, digits and hyphens" in GUIDES
    names = [
        one["deploy"]["parameters"]["stack_name"]
        for one in config.values()
        if isinstance(one, dict) and "deploy" in one
    ]
    assert len(names) == 2
    assert all(re.fullmatch(rf"[a-z][a-z0-9-]{{0,{longest - 1}}}", name) for name in names)


def test_every_setting_and_member_of_the_secret_is_read() -> None:
    settings = (ROOT / "layers/sakuin/sakuin/settings.py").read_text()
    of_commands = "".join((ROOT / f"cli/sakuin_cli/{name}.py").read_text() for name in ("settings", "options"))
    for name in set(re.findall(r"\bSAKUIN_[A-Z_]+\b", GUIDES)):
        assert f'"{name}"' in settings + of_commands, name
    secret = re.search(r"<<'JSON'\n(.*?)\nJSON", GUIDES, re.DOTALL)
    assert secret
    assert set(re.findall(r'"(\w+)":', secret[1])) <= {field.name for field in fields(Secrets)}


def test_the_versions_are_those_that_the_repository_installs() -> None:
    named = re.search(r"SAM CLI ([\d.]+) or newer", GUIDES)
    installed = re.search(r"^aws-sam-cli==([\d.]+)", (ROOT / "requirements/sam.txt").read_text(), re.MULTILINE)
    assert named
    assert installed
    assert installed[1].startswith(named[1])
    assert len(set(re.findall(r"npx (supabase@[\d.]+)", GUIDES))) == 1


def test_the_python_examples_need_the_versions_that_the_tests_run_them_with() -> None:
    named = re.findall(r"([\w-]+)==([\d.]+)", (ROOT / "docs/how-to/clients.md").read_text("utf-8"))
    locked = re.findall(r"^([\w-]+)==([\d.]+)", (ROOT / "requirements/dev.txt").read_text("utf-8"), re.M)
    assert {name for name, _ in named} == {"mcp", "httpx2"}
    assert set(named) <= set(locked)


def test_what_stays_after_a_teardown_is_what_the_template_keeps() -> None:
    kept = [name for name, each in TEMPLATE["Resources"].items() if each.get("DeletionPolicy") == "Retain"]
    assert sorted(kept) == ["SakuinMaterialsBucket", "SakuinTablesBucket"]
    assert "for bucket in sakuin-prod-materials sakuin-prod-tables; do" in GUIDES


def test_the_front_page_shows_the_measured_quality_and_the_computed_cost() -> None:
    quality = (ROOT / "docs/measurements/quality.md").read_text("utf-8").partition("## Beside simple engines")[2]
    names, _, right, best = (
        [cell.strip() for cell in line.split("|")[2:-1]] for line in re.findall(r"^\|.*$", quality, re.M)[:4]
    )
    picture = (ROOT / "docs/images/quality.svg").read_text("utf-8")
    bars = re.findall(r'data-collection="(.*?)".*?>(0\.\d+)<.*?>(0\.\d+)<', picture)
    assert bars == [(name, f"0{one}", f"0{other}") for name, one, other in zip(names, right, best, strict=True)]
    months = {
        kind: rows_of(heading)["A month"] for kind, heading in (("pages", "A library of pages"), ("Tables", "Tables"))
    }
    shown = rows_of("In one table")
    assert {kind: shown[f"A month, {kind}"] for kind in months} == {
        kind: [round(usd) for usd in month] for kind, month in months.items()
    }
    (idle,) = months["pages"][:1]
    for page, words in (("README.md", f"from ${idle:.0f} a month idle"), ("README.ja.md", f"{idle:.0f}ドルから")):
        assert words in (ROOT / page).read_text("utf-8")
