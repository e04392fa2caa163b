"""`sakuin reconcile`."""

import boto3

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Operator
from tests.functions import MATERIALS


def test_an_index_that_is_as_its_sources_say_has_no_findings(operator: Operator) -> None:
    operator.deployment.put("x.html", a_page(FORMULA))
    found = operator.sakuin("reconcile", "--json")
    assert (found.code, found.document) == (0, {"dry_run": False, "findings": []})
    assert operator.sakuin("reconcile").out == "The index matches its sources.\n"


def test_what_differs_is_shown_repaired_and_gone_the_next_time(operator: Operator) -> None:
    operator.deployment.write("x.html", a_page(FORMULA))
    operator.deployment.lose_events()
    dry = operator.sakuin("reconcile", "--dry-run")
    assert (dry.code, dry.out.splitlines()[-1]) == (1, "1 finding; nothing was changed")
    operator.deployment.settle()
    assert operator.sakuin("search", "解の公式", "--json").document["results"] == []
    found = operator.sakuin("reconcile", "--json")
    assert found.code == 1
    assert found.document["findings"] == [
        {
            "rule": "missing",
            "where": "x.html",
            "message": "It is in the bucket, but the index does not know it.",
            "repair": "the key is checked again",
        }
    ]
    operator.deployment.settle()
    assert operator.sakuin("search", "解の公式", "--json").document["results"]
    assert operator.sakuin("reconcile").code == 0


def test_a_line_shows_what_where_and_how_it_is_repaired(operator: Operator) -> None:
    operator.deployment.put("x.html", a_page(FORMULA))
    boto3.client("s3").delete_object(Bucket=MATERIALS, Key="x.html")
    operator.deployment.lose_events()
    line = "gone      x.html  It is indexed, but not in the bucket. → the key is checked again"
    found = operator.sakuin("reconcile").out.splitlines()
    assert found == [line, "1 finding; run it again in a moment to check the repairs"]


def test_one_side_alone_can_be_asked_for(operator: Operator) -> None:
    operator.deployment.write("x.html", a_page(FORMULA))
    operator.deployment.lose_events()
    assert operator.sakuin("reconcile", "--tables", "--json").document["findings"] == []
    assert len(operator.sakuin("reconcile", "--materials", "--dry-run", "--json").document["findings"]) == 1
    both = operator.sakuin("reconcile", "--materials", "--tables", "--dry-run", "--json")
    assert len(both.document["findings"]) == 1
