"""`sakuin gaps`, `validate --repair` and `status`."""

import re
import unicodedata
from datetime import UTC, datetime

import boto3
from sakuin.platform.waiting import WorkRecords, WorkRow
from sakuin.upkeep.refused_questions import Feedback, RefusedQuestions
from sakuin_cli.terminal import minute

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Operator
from tests.functions import MATERIALS


def test_gaps_are_listed_and_one_shows_what_a_page_would_need(operator: Operator) -> None:
    operator.deployment.put("a.html", a_page(FORMULA))
    questions = RefusedQuestions(operator.deployment.client)
    for question in ("円周率の求め方は?", "円周率を計算したい", "opening hours"):
        questions.record(question, None)
    listed = operator.sakuin("gaps", "--json").document
    gap = listed["gaps"][0]
    assert (gap["asked"], set(gap["questions"])) == (2, {"円周率の求め方は?", "円周率を計算したい"})
    assert gap["name"] in operator.sakuin("gaps").out
    shown = operator.sakuin("gaps", gap["id"])
    assert shown.code == 0
    assert "円周率" in shown.out
    assert "a#rule-formula" in shown.out
    gone = operator.sakuin("gaps", "gone")
    assert (gone.code, "This gap is no longer there" in gone.err) == (1, True)


def test_no_gap_says_whether_questions_are_recorded(operator: Operator) -> None:
    shown = operator.sakuin("gaps")
    assert (shown.code, "RecordRefusedQuestions=true" in shown.out) == (0, True)


def test_what_agents_say_of_answers_becomes_gaps(operator: Operator) -> None:
    operator.deployment.put("a.html", a_page(FORMULA))
    feedback = Feedback(operator.deployment.client)
    for id, question, is_answered in (
        ("a#rule-formula", "二次方程式を解く公式は", True),
        ("a#rule-formula", "二次方程式を解く公式は", True),
        ("b#rule-other", "二次方程式を解く公式は", False),
        ("a#rule-formula", "", True),
        ("", "円周率の求め方は", False),
    ):
        feedback.record(id, question, is_answered)
    gaps = {gap["questions"][0]: gap["unanswered"] for gap in operator.sakuin("gaps", "--json").document["gaps"]}
    assert gaps == {"二次方程式を解く公式は": 1, "円周率の求め方は": 1}


def test_what_differs_is_shown_repaired_and_gone_the_next_time(operator: Operator) -> None:
    operator.deployment.write("x.html", a_page(FORMULA))
    operator.deployment.lose_events()
    dry = operator.sakuin("validate", "--repair", "--dry-run")
    assert (dry.code, dry.out.splitlines()[-1]) == (1, "1 finding; nothing was changed")
    operator.deployment.settle()
    assert operator.sakuin("search", "解の公式", "--json").document["results"] == []
    found = operator.sakuin("validate", "--repair", "--json")
    assert found.code == 1
    assert found.document["findings"] == [
        {
            "rule": "differs",
            "where": "x.html",
            "message": "The index has another version than the bucket, or none.",
            "repair": "the key is checked again",
        }
    ]
    operator.deployment.settle()
    assert operator.sakuin("search", "解の公式", "--json").document["results"]
    assert operator.sakuin("validate", "--repair").code == 0


def test_a_line_shows_what_where_and_how_it_is_repaired(operator: Operator) -> None:
    operator.deployment.put("x.html", a_page(FORMULA))
    boto3.client("s3").delete_object(Bucket=MATERIALS, Key="x.html")
    operator.deployment.lose_events()
    line = "gone      x.html  It is indexed, but not in the bucket. → the key is checked again"
    found = operator.sakuin("validate", "--repair").out.splitlines()
    assert found == [line, "1 finding; run it again in a moment to check the repairs"]


def test_an_empty_library(operator: Operator) -> None:
    assert operator.sakuin("status", "--json").document == {
        "materials": {"ready": 0, "failed": 0},
        "chunks": 0,
        "words": None,
        "competing": [],
        "failed": [],
        "last_indexed": None,
        "work": {"count": 0, "oldest_seconds": 0, "reasons": [], "rows": []},
        "queues": [
            {"queue": queue, "waiting": 0, "in_flight": 0, "dead_letters": 0} for queue in ("material", "tool", "embed")
        ],
    }


def test_messages_and_dead_letters_are_counted(operator: Operator) -> None:
    sqs, environ = boto3.client("sqs"), operator.deployment.functions.environ
    for _ in range(2):
        sqs.send_message(QueueUrl=environ["EMBED_QUEUE_URL"], MessageBody="{}")
    sqs.receive_message(QueueUrl=environ["EMBED_QUEUE_URL"], VisibilityTimeout=90)
    sqs.send_message(QueueUrl=environ["TOOL_DEAD_LETTERS_URL"], MessageBody="poison")
    shown = operator.sakuin("status").out
    assert "embed queue: 1 waiting, 1 in flight" in shown
    assert "1 dead letter: fix the cause, then run `sakuin redrive`" in shown


def test_failures_and_waiting_keys_are_listed_with_their_reasons(operator: Operator) -> None:
    nfc, nfd = (unicodedata.normalize(form, "が.html") for form in ("NFC", "NFD"))
    operator.deployment.put(nfc, a_page(FORMULA))
    operator.deployment.put(nfd, a_page(FORMULA))
    operator.deployment.put("empty.html", b"")
    document = operator.sakuin("status", "--json").document
    assert document["materials"] == {"ready": 1, "failed": 1}
    assert document["chunks"] == 1
    assert document["competing"] == [{"material": "が", "key": nfd}]
    assert document["failed"] == [
        {"material": "empty", "key": "empty.html", "error": "The file is empty. Upload the built page again."}
    ]
    shown = operator.sakuin("status")
    assert shown.code == 0
    assert "✗ empty  The file is empty." in shown.out
    assert "… が  " in shown.out


def test_one_material_with_all_its_fields(operator: Operator) -> None:
    version = operator.deployment.put("junior/x.html", a_page(FORMULA))
    document = operator.sakuin("status", "--material", "junior/x", "--json").document
    assert document["status"] == "ready"
    assert document["chunks_count"] == 1
    assert document["indexed_version_id"] == document["version_id"] == version
    assert "junior/x.html" in operator.sakuin("status", "--material", "junior/x").out


def test_pages_are_listed_with_the_words_that_are_found_of_them(operator: Operator) -> None:
    operator.deployment.put(
        "tea.html", b"<h1 id=t>Tea</h1><p>Hot tea</p><button>Buy</button><h2 id=c>Cups</h2><p>Cups</p>"
    )
    operator.deployment.put("empty.html", b"")
    words = {"searched": 3, "only_read": 0, "left_out": {"form": 1}, "lost": 2}
    empty, tea = operator.sakuin("list", "--json").document["materials"]
    assert (empty["words"], tea["words"], tea["explanations"]) == (None, words, 1)
    line = "3 words searched, 0 only read, 1 left out (form 1), 2 lost"
    names, _, shown, total = operator.sakuin("list").out.splitlines()
    assert re.split(" {2,}", names)[:6] == ["page", "sections", "searched", "only read", "left out", "lost"]
    assert re.split(" {2,}", shown)[:6] == ["tea", "1", "3", "0", "1", "2"]
    assert total == f"2 pages, 1 section, {line}"
    assert line in operator.sakuin("status").out
    assert line in operator.sakuin("status", "--material", "tea").out


def test_a_page_that_leads_to_another_is_listed_as_a_redirect(operator: Operator) -> None:
    operator.deployment.put("moved.html", b'<meta http-equiv=refresh content="0; url=tea.html"><p>Redirecting...</p>')
    (moved,) = operator.sakuin("list", "--json").document["materials"]
    assert (moved["status"], moved["explanations"], moved["words"]["left_out"]) == ("ready", 0, {"redirect": 1})
    assert "redirect" in operator.sakuin("list").out.splitlines()[1]


def test_an_unknown_material_is_a_failure(operator: Operator) -> None:
    # Another material begins with the same letters.
    operator.deployment.put("junior/xy.html", a_page(FORMULA))
    shown = operator.sakuin("status", "--material", "junior/x", "--json")
    assert shown.code == 1
    assert "junior/x" in shown.document["error"]


REASON = "OpenAI refused the key; this waits for openai and continues automatically after the correction"


def waiting(operator: Operator, *rows: WorkRow) -> None:
    """Lets these wait for OpenAI."""
    records, since = WorkRecords(operator.deployment.client), datetime.now(UTC).isoformat()
    for row in rows:
        records.begin(row, "m1")
        records.wait(row, "m1", since=since, reason=REASON, vendor="openai", seconds=60)


def page(name: str) -> WorkRow:
    return WorkRow("page", name, source={"bucket": "materials", "key": f"{name}.html"})


def test_what_waits_is_shown_with_its_reason_and_since_when(operator: Operator) -> None:
    waiting(operator, *(page(f"junior/{name}") for name in "abcde"))
    work = operator.sakuin("status", "--json").document["work"]
    assert (work["count"], work["reasons"]) == (
        5,
        [{"vendor": "openai", "reason": REASON, "count": 5, "reason_code": "other"}],
    )
    first = work["rows"][0]
    expected = {"kind": "page", "subject": "junior/a", "reason": REASON, "vendor": "openai"}
    assert expected.items() <= first.items()
    shown = operator.sakuin("status").out
    assert f"… 5 waiting  {REASON}" in shown
    assert f"    since {minute(first['since'])}: junior/a, " in shown
    assert " and 2 more" in shown


def test_more_work_than_is_listed_is_counted(operator: Operator) -> None:
    operator.deployment.sql.execute(
        "insert into authored_file (key, work) select n || '/learns.yml', jsonb_build_object("
        "'since', now(), 'reason', 'away', 'vendor', null, 'until', now()) from generate_series(1, 203) n"
    )
    work = operator.sakuin("status", "--json").document["work"]
    assert (work["count"], len(work["rows"])) == (203, 200)
    assert "… 203 waiting  away" in operator.sakuin("status").out


def test_a_page_shows_since_when_and_why_its_newest_version_waits(operator: Operator) -> None:
    operator.deployment.put("junior/x.html", a_page(FORMULA))
    waiting(operator, page("junior/x"))
    document = operator.sakuin("status", "--material", "junior/x", "--json").document
    assert (document["status"], document["waiting"]["reason"]) == ("ready", REASON)
    assert "… waiting since " in operator.sakuin("status", "--material", "junior/x").out


def test_a_page_that_is_only_on_its_way_is_known(operator: Operator) -> None:
    waiting(operator, page("junior/new"))
    document = operator.sakuin("status", "--material", "junior/new", "--json").document
    assert (document["status"], document["waiting"]["reason"]) == ("waiting", REASON)
