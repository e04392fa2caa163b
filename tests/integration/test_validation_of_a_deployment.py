"""`sakuin validate` against a deployment, whatever is wrong with it."""

import json
import unicodedata
from collections.abc import Iterator

import psycopg
import pytest

from tests.integration.conftest import Deployed
from tests.integration.pages import page, rule

pytestmark = pytest.mark.integration

FOLDER = "検証"
KEPT = rule("rule-kept", "残る規則", "この規則は頁にも索引にもある。")
LOST = rule("rule-lost", "消えた規則", "この規則は索引から消えた。")
POOR = "悪い_教材:\n  rule-kept:\n    - 残る規則の意味\n"
FLAWS = """<div class="tip-box">名のない箱</div><p id="twice">一</p><p id="twice">二</p><a href="#nowhere">先</a>"""


@pytest.fixture(autouse=True)
def without_maintenance(deployed: Deployed) -> Iterator[None]:
    """Disables the schedule, which repairs what these tests break."""
    events = deployed.client("events")
    rules = [rule["Name"] for rule in events.list_rules()["Rules"] if "Maintain" in rule["Name"]]
    assert rules
    for name in rules:
        events.disable_rule(Name=name)
    yield
    with psycopg.connect(deployed.environment["SAKUIN_DATABASE_DSN"]) as database:
        # No schedule of a minute takes this one away.
        database.execute("delete from material where material = %s", (f"{FOLDER}/幻_教材",))
    for name in rules:
        events.enable_rule(Name=name)


def test_a_deployment_that_agrees_with_its_pages_passes(deployed: Deployed) -> None:
    assert deployed.put(f"{FOLDER}/良/良い_教材.html", page("良い頁", KEPT)) == "applied"
    code, output = deployed.sakuin("validate", "--prefix", f"{FOLDER}/良", "--strict", "--json")
    assert (code, json.loads(output)) == (0, {"errors": 0, "warnings": 0, "findings": []})


@pytest.mark.scenario("knowledge-index/a-missing-anchor-is-an-error")
@pytest.mark.scenario("knowledge-index/an-unindexed-id-is-a-warning")
def test_each_rule_finds_what_is_wrong_and_errors_are_the_exit_code(deployed: Deployed) -> None:
    spoil(deployed)
    code, output = deployed.sakuin("validate", "--prefix", FOLDER, "--json")
    report = json.loads(output)
    found = {(item["severity"], item["rule"], item["material"], item["anchor"]) for item in report["findings"]}
    bad = f"{FOLDER}/悪い_教材"
    assert found == {
        ("error", "missing-anchor", bad, "rule-ghost"),
        ("error", "duplicate-id", bad, "twice"),
        ("error", "unreadable-page", f"{FOLDER}/空_教材", None),
        ("error", "missing-page", f"{FOLDER}/幻_教材", None),
        ("warning", "not-indexed", bad, "rule-lost"),
        ("warning", "box-without-id", bad, None),
        ("warning", "learns-completed", bad, "rule-kept"),
        ("warning", "learns-no-action", bad, "rule-kept"),
        ("warning", "broken-link", bad, "nowhere"),
        ("warning", "waiting-page", f"{FOLDER}/が_教材", None),
    }
    assert (code, report["errors"], report["warnings"]) == (1, 4, 6)


def spoil(deployed: Deployed) -> None:
    """Uploads pages with every flaw and damages the index."""
    assert deployed.put(f"{FOLDER}/learns.yml", POOR) == "applied"
    assert deployed.put(f"{FOLDER}/悪い_教材.html", page("悪い頁", KEPT, LOST, FLAWS)) == "applied"
    assert deployed.put(f"{FOLDER}/空_教材.html", b"") == "failed"
    for form in ("NFC", "NFD"):
        deployed.put(unicodedata.normalize(form, f"{FOLDER}/が_教材.html"), page("濁点", KEPT))
    with psycopg.connect(deployed.environment["SAKUIN_DATABASE_DSN"]) as database:
        ghost: dict[str, str | None] = {"anchor": "rule-ghost", "learns_given": None}
        copied(database, "knowledge_chunks", f"{FOLDER}/悪い_教材#rule-kept", ghost)
        database.execute("delete from knowledge_chunks where id = %s", (f"{FOLDER}/悪い_教材#rule-lost",))
        phantom: dict[str, str | None] = {"material": f"{FOLDER}/幻_教材", "key": f"{FOLDER}/幻_教材.html"}
        copied(database, "material", f"{FOLDER}/悪い_教材", phantom)


def copied(database: psycopg.Connection, table: str, name: str, changed: dict[str, str | None]) -> None:
    """A second row like the one of this name, but for some columns; a chunk's id follows its anchor."""
    if table == "knowledge_chunks":
        changed = {**changed, "id": f"{name.rpartition('#')[0]}#{changed['anchor']}"}
    key = "id" if table == "knowledge_chunks" else "material"
    # A column that numbers the rows gives the copy a number of its own.
    copy = f"insert into {table} overriding user value select (jsonb_populate_record(t, %s)).* from {table} t"
    database.execute(f"{copy} where {key} = %s", (json.dumps(changed), name))


def test_pushing_a_page_again_repairs_its_index(deployed: Deployed) -> None:
    material = f"{FOLDER}/癒/癒える_教材"
    html = page("癒える頁", KEPT, LOST)
    assert deployed.put(f"{material}.html", html) == "applied"
    with psycopg.connect(deployed.environment["SAKUIN_DATABASE_DSN"]) as database:
        copied(database, "knowledge_chunks", f"{material}#rule-kept", {"anchor": "rule-ghost", "learns_given": None})
        database.execute("delete from knowledge_chunks where id = %s", (f"{material}#rule-lost",))
    assert deployed.sakuin("validate", "--prefix", f"{FOLDER}/癒")[0] == 1
    assert deployed.put(f"{material}.html", html) == "applied"
    assert deployed.sakuin("validate", "--prefix", f"{FOLDER}/癒")[1] == "0 errors, 0 warnings\n"
