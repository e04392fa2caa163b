"""`sakuin status`."""

import unicodedata

import boto3
from sakuin.platform.retry import Defer
from sakuin.platform.unfinished_work import UnfinishedWork, UnfinishedWorkStore, WorkSubject
from sakuin_cli.terminal import minute

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Operator


def test_an_empty_library(operator: Operator) -> None:
    assert operator.sakuin("status", "--json").document == {
        "materials": {"ready": 0, "failed": 0},
        "chunks": 0,
        "waiting": [],
        "failed": [],
        "last_indexed": None,
        "work": {"retrying": 0, "waiting": 0, "failed": 0},
        "unfinished": [],
        "queues": [
            {"queue": queue, "waiting": 0, "in_flight": 0, "unattended": 0, "dead_letters": 0}
            for queue in ("material", "tool", "embed", "webhook")
        ],
        "in_flight": [],
    }


def test_messages_show_whether_a_worker_has_them(operator: Operator) -> None:
    sqs, url = boto3.client("sqs"), operator.deployment.functions.environ["EMBED_QUEUE_URL"]
    for _ in range(2):
        sqs.send_message(QueueUrl=url, MessageBody="{}")
    sqs.receive_message(QueueUrl=url, VisibilityTimeout=90)
    work = UnfinishedWorkStore(operator.deployment.client)
    work.renew_lease("m1", "material", '{"reindex": {"material": "junior/x"}}', worked=30, seconds=-1)
    shown = operator.sakuin("status").out
    work.end_lease("m1")
    assert "embed queue: 1 waiting, 1 in flight, 1 of them without a known worker" in shown
    assert "index junior/x again: asked, since " in shown
    assert "its worker is dead, the queue delivers it again" in shown


def test_failures_and_waiting_keys_are_listed_with_their_reasons(operator: Operator) -> None:
    nfc, nfd = (unicodedata.normalize(form, "が.html") for form in ("NFC", "NFD"))
    operator.deployment.put(nfc, a_page(FORMULA))
    operator.deployment.put(nfd, a_page(FORMULA))
    operator.deployment.put("empty.html", b"")
    document = operator.sakuin("status", "--json").document
    assert document["materials"] == {"ready": 1, "failed": 1}
    assert document["chunks"] == 1
    assert document["waiting"] == [{"material": "が", "key": nfd}]
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


def test_an_unknown_material_is_a_failure(operator: Operator) -> None:
    # Another material begins with the same letters.
    operator.deployment.put("junior/xy.html", a_page(FORMULA))
    shown = operator.sakuin("status", "--material", "junior/x", "--json")
    assert shown.code == 1
    assert "junior/x" in shown.document["error"]


REASON = "OpenAI refused the key; this waits for openai and continues automatically after the correction"


def unfinished(operator: Operator) -> UnfinishedWorkStore:
    return UnfinishedWorkStore(operator.deployment.client)


def waiting(operator: Operator, subject: WorkSubject) -> UnfinishedWork:
    """This waits for OpenAI."""
    assert unfinished(operator).defer(subject, Defer(60, REASON, "openai"))
    (row,) = unfinished(operator).rows(subjects=[subject.id])
    return row


def page(name: str) -> WorkSubject:
    return WorkSubject("file", f"{name}.html")


def test_what_waits_is_shown_with_its_reason_since_when_and_when_it_continues(operator: Operator) -> None:
    rows = [waiting(operator, page(f"junior/{name}")) for name in "abcde"]
    document = operator.sakuin("status", "--json").document
    assert document["work"] == {"retrying": 0, "waiting": 5, "failed": 0}
    first = next(one for one in document["unfinished"] if one["subject"] == "junior/a.html")
    assert first == {
        "kind": "file",
        "subject": "junior/a.html",
        "index": "",
        "state": "waiting",
        "reason": REASON,
        "vendor": "openai",
        "attempts": 1,
        "since": rows[0].since,
        "retry_at": rows[0].retry_at,
    }
    shown = operator.sakuin("status").out
    next_attempt = min(str(row.retry_at) for row in rows)
    assert f"… 5 waiting  {REASON}" in shown
    assert f"    since {minute(rows[0].since)}, next attempt {minute(next_attempt)}: junior/a.html, " in shown
    assert " and 2 more" in shown
    assert "redrive" not in shown


def test_what_is_retried_and_what_failed_are_shown_each_with_its_reason(operator: Operator) -> None:
    table = WorkSubject("table", "11111111-1111-1111-1111-111111111111")
    unfinished(operator).record_retry(page("a"), "The database did not answer", vendor="supabase", seconds=30)
    unfinished(operator).record_dead_letter(table, "it failed")
    document = operator.sakuin("status", "--json").document
    assert document["work"] == {"retrying": 1, "waiting": 0, "failed": 1}
    assert {(row["state"], row["retry_at"] is None) for row in document["unfinished"]} == {
        ("retrying", False),
        ("failed", True),
    }
    shown = operator.sakuin("status").out
    assert "… 1 retrying  The database did not answer" in shown
    assert "✗ 1 failed  it failed" in shown
    assert f": Table {table.id}" in shown
    assert "Failed work is not retried automatically: fix the cause, then run `sakuin redrive`" in shown


def test_more_work_than_is_listed_is_counted(operator: Operator) -> None:
    operator.deployment.sql.execute(
        "insert into unfinished_work (kind, subject, state, reason, attempts, waits, since, retry_at)"
        " select 'file', n || '.html', 'waiting', 'away', 1, 1, now(), now() from generate_series(1, 503) n"
    )
    document = operator.sakuin("status", "--json").document
    assert (document["work"]["waiting"], len(document["unfinished"])) == (503, 500)
    assert "… and 3 more unfinished" in operator.sakuin("status").out


def test_a_page_shows_its_work_that_did_not_finish_and_why(operator: Operator) -> None:
    operator.deployment.put("junior/x.html", a_page(FORMULA))
    row = waiting(operator, page("junior/x"))
    (shown,) = operator.sakuin("status", "--material", "junior/x", "--json").document["work"]
    assert (shown["state"], shown["reason"], shown["vendor"]) == ("waiting", REASON, "openai")
    waits = f"… waiting since {minute(row.since)}, continues automatically at {minute(str(row.retry_at))}: {REASON}"
    assert waits in operator.sakuin("status", "--material", "junior/x").out


def test_a_page_says_how_often_it_was_tried(operator: Operator) -> None:
    for _ in range(2):
        unfinished(operator).record_retry(page("x"), "it failed", vendor=None, seconds=5)
    assert "… failed 2 times since " in operator.sakuin("status", "--material", "x").out
    unfinished(operator).record_dead_letter(page("x"), "it failed")
    shown = operator.sakuin("status", "--material", "x")
    assert "✗ failed after 3 attempts, since " in shown.out
    assert "`sakuin redrive` sends it again: it failed" in shown.out
    assert operator.sakuin("status", "--material", "x", "--json").document["status"] == "failed"


def test_a_page_that_waits_its_turn_has_not_failed(operator: Operator) -> None:
    waits = "Waiting for embeddings, about 2 minutes"
    assert unfinished(operator).record_wait(page("x"), waits, seconds=70, longest=3600)
    shown = operator.sakuin("status", "--material", "x").out
    assert "… waiting since " in shown
    assert waits in shown
    assert f"… 1 retrying  {waits}" in operator.sakuin("status").out


def test_a_page_that_is_only_on_its_way_is_known(operator: Operator) -> None:
    waiting(operator, page("junior/new"))
    document = operator.sakuin("status", "--material", "junior/new", "--json").document
    assert (document["status"], document["error"]) == ("waiting", REASON)
    assert [row["state"] for row in document["work"]] == ["waiting"]
