"""The synonyms of a project, in questions to its Search Tools."""

from sakuin.language.synonyms import stored_groups
from sakuin.retrieval.index_version import ANALYZER
from sakuin.tables.search import TableExplanation

from tests.worlds import TableWorld, long

DOCUMENT = {"pass": long("関所を通る人が持つ通行手形"), "inn": long("街道に沿って栄えた宿場町")}
QUESTION = "旅券の見せ方"


def replace(world: TableWorld, *groups: tuple[str, ...], analyzer: str = ANALYZER) -> None:
    world.call("replace_synonyms", project=world.project, groups=stored_groups(groups), analyzer=analyzer)


def explained(world: TableWorld, endpoint: str, **asked: frozenset[str]) -> TableExplanation:
    return world.table_search().explanation(endpoint, world.bound(endpoint).tools[0], QUESTION, **asked)


def found_by_words(explanation: TableExplanation) -> list[str]:
    return [each.chunk.json_pointer for each in explanation.candidates if "通行" in "".join(each.ranked.words.matched)]


def test_a_project_s_synonyms_find_what_its_tables_write(world: TableWorld) -> None:
    _, _, endpoint = world.indexed(DOCUMENT)
    assert found_by_words(explained(world, endpoint)) == []
    replace(world, ("通行手形", "旅券"), ("宿場町", "泊まる所"))
    explanation = explained(world, endpoint)
    assert "/pass" in found_by_words(explanation)
    assert [(step.rule, step.found, step.read_as) for step in explanation.understood.steps] == [
        ("synonyms", "旅券", "通行手形")
    ]
    assert world.search(endpoint, "旅券").results[0].json_path == "/pass"
    assert found_by_words(explained(world, endpoint, without=frozenset({"synonyms"}))) == []
    replace(world)
    assert found_by_words(explained(world, endpoint)) == []
    assert world.sql("select 1 from project_synonyms") == []


def test_another_project_has_none_of_them_and_a_deleted_one_leaves_none(world: TableWorld) -> None:
    other = world.beside()
    _, _, endpoint = other.indexed(DOCUMENT)
    replace(world, ("通行手形", "旅券"))
    assert found_by_words(explained(other, endpoint)) == []
    world.call("delete_project", project=world.project)
    world.maintain()
    assert world.sql("select 1 from project_synonyms") == []


def test_an_endpoint_that_is_closed_knows_no_synonyms(world: TableWorld) -> None:
    _, tool, endpoint = world.indexed(DOCUMENT)
    replace(world, ("通行手形", "旅券"))
    asked = {"mcp": endpoint, "tool": tool, "fingerprint": "f", "readings": [], "words": {}}
    asked |= {"query": "旅券", "analyzer": ANALYZER}
    assert world.call("table_lexicon_entries", **asked)["synonyms"] == [{"folder": "", "phrases": ["通行手形", "旅券"]}]
    world.sql("update mcp set status = 'disabled' where id = %s", endpoint)
    assert world.call("table_lexicon_entries", **asked)["synonyms"] == []


def test_synonyms_that_another_analyzer_stored_still_count(world: TableWorld) -> None:
    _, _, endpoint = world.indexed(DOCUMENT)
    groups = [{"phrases": ["通行手形", "旅券"], "plain": ["another", "form"]}]
    world.call("replace_synonyms", project=world.project, groups=groups, analyzer=ANALYZER)
    assert found_by_words(explained(world, endpoint)) == []
    world.call("replace_synonyms", project=world.project, groups=groups, analyzer="another/1")
    assert "/pass" in found_by_words(explained(world, endpoint))
