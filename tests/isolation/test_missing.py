"""What an answer says that texts lack depends on nothing that its caller may not see."""

from sakuin.knowledge.model import Filters
from sakuin.mcp.knowledge.tools import KnowledgeTools

from tests.builders import a_page
from tests.emptied import emptied
from tests.worlds import Worlds, long, world_of


def test_what_is_missing_says_nothing_about_pages_that_a_caller_may_not_see(a_world: Worlds) -> None:
    """The same answer, whether or not pages outside the folder, the type or the level have the words."""
    world, answers = a_world(), []
    world.put(
        "own/errors.html", a_page({"rule-1045": "Error 1045: The password of the account is wrong. Drop the table."})
    )
    questions = ("What does error 1046 mean?", "Who is Marseille in the account?", "CVE-2024-3095 of the account")
    questions += ("drop_table of the account",)
    for text in ("The weather is fine.", "Error 1046, CVE-2024-3095 and drop_table concern Marseille in the account."):
        world.put("other/errors.html", a_page({"rule-other": f"Other: {text}", "tip-other": f"Tip: {text}"}))
        limited = KnowledgeTools(world, world.read).within(Filters(folder="own"))
        filtered = KnowledgeTools(world, world.read)
        answers.append(
            [
                [limited.answer("search_knowledge", {"query": query}) for query in questions],
                [filtered.answer("search_knowledge", {"query": query, "in": "own"}) for query in questions],
                [
                    filtered.answer("search_knowledge", {"query": query, "material": "own/errors"})
                    for query in questions
                ],
            ]
        )
    said = [[[answer.get("not_in_scope") for answer in some] for some in each] for each in answers]
    assert said[0] == said[1]
    assert said[0][0] == [["1046"], ["Marseille"], ["CVE-2024-3095"], ["drop_table"]]
    everything = [KnowledgeTools(world, world.read).answer("search_knowledge", {"query": query}) for query in questions]
    assert not any("not_in_scope" in answer for answer in everything)


def test_what_is_missing_says_nothing_about_the_rest_of_a_table(a_world: Worlds, stand_in: str) -> None:
    emptied(a_world.sql)
    world = world_of(a_world.database, stand_in)
    answers = []
    for secret in ("Nothing to see.", "Error 1046 of drop_table is explained in this part of the Table."):
        document = {"public": {"a": long("Error 1045: drop no table.")}, "secret": {"a": long(secret)}}
        endpoint = world.endpoint(world.tool(world.table(document), "/public"))
        world.settle()
        answers.append(world.answer(endpoint, "What does error 1046 of drop_table mean?"))
    assert [each["not_in_scope"] for each in answers] == [["1046", "drop_table"], ["1046", "drop_table"]]
    assert all(result["missing"] == ("1046", "drop_table") for result in answers[0]["results"])
