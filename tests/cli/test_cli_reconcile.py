"""`sakuin reconcile`."""

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Keeper


def test_an_index_that_is_as_its_sources_say_has_no_findings(keeper: Keeper) -> None:
    keeper.world.put("x.html", a_page(FORMULA))
    said = keeper.sakuin("reconcile", "--json")
    assert (said.code, said.document) == (0, {"dry_run": False, "findings": []})
    assert keeper.sakuin("reconcile").out == "Everything is as its sources say.\n"


def test_what_differs_is_shown_repaired_and_gone_the_next_time(keeper: Keeper) -> None:
    keeper.world.bucket.write("x.html", a_page(FORMULA))
    keeper.world.bucket.forget_messages()
    dry = keeper.sakuin("reconcile", "--dry-run")
    assert (dry.code, dry.out.splitlines()[-1]) == (1, "1 finding; nothing was changed")
    assert keeper.world.settle() == []
    said = keeper.sakuin("reconcile", "--json")
    assert said.code == 1
    assert said.document["findings"] == [
        {
            "rule": "missing",
            "where": "x.html",
            "message": "It is in the bucket, and the index never heard of it.",
            "repair": "its key is looked at again",
        }
    ]
    keeper.world.settle()
    assert keeper.sakuin("search", "解の公式", "--json").document["results"]
    assert keeper.sakuin("reconcile").code == 0


def test_a_line_says_what_where_and_what_is_done(keeper: Keeper) -> None:
    keeper.world.put("x.html", a_page(FORMULA))
    keeper.world.bucket.remove("x.html")
    keeper.world.bucket.forget_messages()
    line = "gone      x.html  It is indexed, and not in the bucket. → its key is looked at again"
    said = keeper.sakuin("reconcile").out.splitlines()
    assert said == [line, "1 finding; run it again in a moment to see whether it is right"]


def test_one_side_alone_can_be_asked_for(keeper: Keeper) -> None:
    keeper.world.bucket.write("x.html", a_page(FORMULA))
    keeper.world.bucket.forget_messages()
    assert keeper.sakuin("reconcile", "--tables", "--json").document["findings"] == []
    assert len(keeper.sakuin("reconcile", "--materials", "--dry-run", "--json").document["findings"]) == 1
    both = keeper.sakuin("reconcile", "--materials", "--tables", "--dry-run", "--json")
    assert len(both.document["findings"]) == 1
