"""The REST API of a project's synonyms."""

from typing import Any

import pytest
from sakuin.errors import Invalid
from sakuin.language.synonyms import MOST_GROUPS, MOST_PHRASES, check_groups, stored_groups
from sakuin.platform.supabase.client import call

from tests.http.test_projects import Api
from tests.worlds import Worlds

GROUPS = [["速さの公式", "みはじ", "はじき"], ["SOH-CAH-TOA", "三角比の覚え方"]]


@pytest.fixture(scope="module")
def one_api(a_world: Worlds) -> Api:
    return Api(a_world())


@pytest.fixture
def api(one_api: Api) -> Api:
    return one_api.of_new_member()


def put(api: Api, groups: object, project: str | None = None) -> Any:
    return api.call("PUT", f"/v1/projects/{project or api.project}/synonyms", {"groups": groups})


def groups_of(api: Api) -> Any:
    return api.call("GET", f"/v1/projects/{api.project}/synonyms").json()["groups"]


def test_a_list_is_replaced_and_an_empty_one_deletes_it(api: Api) -> None:
    assert groups_of(api) == []
    assert (put(api, GROUPS).status_code, groups_of(api)) == (200, GROUPS)
    assert put(api, [[" 傾き ", "傾き", "変化の\n割合"]]).json() == {"groups": [["傾き", "変化の 割合"]]}
    assert groups_of(api) == [["傾き", "変化の 割合"]]
    assert put(api, []).json() == {"groups": []}
    kept = "select count(*) from public.project_synonyms where project_id = %s"
    assert api.world.sql.execute(kept, [api.project]).fetchone() == (0,)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ([["傾き", "勾配"], ["一つだけ"]], "groups[1]: a group needs two different phrases."),
        ([["傾き", "ｋ", "勾配"]], "groups[0][1]: a phrase has 2 to 60 characters."),
        ([["傾き", "長" * 61, "勾配"]], "groups[0][1]: a phrase has 2 to 60 characters."),
        ([["傾き", "勾\0配", "坂道"]], "groups[0][1]: a phrase has 2 to 60 characters."),
        ([["傾き", "傾き"]], "groups[0]: a group needs two different phrases."),
        ([[f"語句{n}番" for n in range(MOST_PHRASES + 1)]], "groups[0]: more than 20 phrases in one group"),
        ([[f"左{n}", f"右{n}"] for n in range(MOST_GROUPS + 1)], "There are 2,001 groups; the limit is 2,000."),
        ([[f"{n}{'長' * 50}", f"{n}{'短' * 50}"] for n in range(1000)], "bytes; the limit is 262,144."),
    ],
)
def test_a_wrong_list_is_422_with_its_place_and_the_last_list_stays(api: Api, wrong: Any, told: str) -> None:
    assert put(api, GROUPS).status_code == 200
    answer = put(api, wrong)
    assert (answer.status_code, told in answer.json()["detail"]) == (422, True), answer.text
    assert groups_of(api) == GROUPS


@pytest.mark.parametrize("body", [{}, {"groups": "みはじ"}, {"groups": [[1, 2]]}, {"groups": [], "more": 1}, []])
def test_a_request_of_another_shape_is_422(api: Api, body: object) -> None:
    assert api.call("PUT", f"/v1/projects/{api.project}/synonyms", body).status_code == 422


def test_many_mistakes_are_one_short_error() -> None:
    with pytest.raises(Invalid, match=r"And 40 more\. Correct them and send all groups again\.$"):
        check_groups([["x"]] * 25)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        [1],
        [{"phrases": ["傾き", "勾配"]}],
        [{"phrases": ["傾き", 1], "plain": []}],
        [{"phrases": ["傾き"], "plain": []}],
        [{"phrases": ["傾き", "長" * 61], "plain": []}],
        [{"phrases": ["傾き", "勾配"], "plain": "傾き"}],
        [{"phrases": ["傾き", "勾配"], "plain": []}],
        [{"phrases": ["傾き", "勾配"], "plain": ["傾き", 1]}],
        [{"phrases": ["傾き", "勾配"], "plain": ["傾き", {"x": "勾配"}]}],
        [{"phrases": ["傾き", "勾配"], "plain": ["傾き", "x" * 601]}],
        [{"phrases": ["傾き", "勾配"], "plain": ["傾き", "勾配"], "more": 1}],
        stored_groups([("傾き", f"勾配{n}") for n in range(MOST_GROUPS + 1)]),
        [{"phrases": ["傾き", "勾配"], "plain": ["x" * 1_000_000]}],
    ],
)
def test_the_database_checks_what_a_member_sends_it(api: Api, wrong: Any) -> None:
    with pytest.raises(Invalid, match="ynonyms"):
        call(api.world.client, "replace_synonyms", {"p_project": api.project, "p_groups": wrong, "p_analyzer": "a"})
