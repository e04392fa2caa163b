"""A library, a project and an operator's day: something of everything that the console shows."""

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sakuin.platform.waiting import WorkRow
from sakuin.texts.catalogue import coded
from sakuin.upkeep.refused_questions import RefusedQuestions
from sakuin_local.places import SAMPLES

from tests.doubles.sqs import ModelledSqs
from tests.events import s3_message
from tests.worlds import TableWorld, World

HOSTILE = "\"'><script>alert(1)</script><img src=//elsewhere.example/x onerror=alert(2)>\u202e{{ 7 * 7 }}"
_MATERIAL = "senior/微分と接線_教材"
_REFUSED = coded("vendor.refused", service="embedding service", status=401, model="EMBEDDING_MODEL")


@dataclass(frozen=True, slots=True)
class Content:
    """What flows use: the queues, and the ids of the project and of a Search Tool."""

    sqs: ModelledSqs
    project: str
    tool: str


def add_content(world: World, tables: TableWorld, owner: str, *, is_hostile: bool) -> Content:
    """Fills an empty deployment; with `is_hostile` also with texts of attackers."""
    add_pages(world)
    content = Content(ModelledSqs(now=time.time()), tables.project, add_project(world, tables, owner))
    add_troubles(world, content)
    if is_hostile:
        add_hostile_texts(world, tables, content)
    return content


def add_pages(world: World) -> None:
    """Indexes the samples, and pages with which something is wrong."""
    world.bucket.now = datetime.now(UTC) - timedelta(seconds=4)
    for file in sorted([*SAMPLES.rglob("learns.yml"), *SAMPLES.rglob("*.html")]):
        world.bucket.write(file.relative_to(SAMPLES).as_posix(), file.read_bytes())
    world.bucket.write("junior/図形の性質_教材.html", b"%PDF-1.7")
    world.settle()
    # Written since it was indexed: the index is behind.
    changed = (SAMPLES / f"{_MATERIAL}.html").read_text().replace('id="', 'id="new-', 1)
    world.bucket.write(f"{_MATERIAL}.html", changed.encode())
    world.bucket.forget_messages()


def add_project(world: World, tables: TableWorld, owner: str) -> str:
    """Creates a project with an indexed Table, an endpoint and members; returns the id of its Tool."""
    world.sql.execute("update project set name = '学校の教材' where id = %s", [tables.project])
    for user, role in ((owner, "owner"), ("00000000-0000-4000-8000-0000000000b2", "viewer")):
        world.projects.add_member(None, tables.project, user, role)
    document = json.loads((SAMPLES / "tables" / "学習コラム.json").read_text())
    made = world.services.projects.tables.create(
        None, tables.project, name="学習コラム", document=document, chunk_threshold_chars=None
    )
    tool = tables.tool(made.id, "/articles", "search_columns")
    broken = tables.tool(made.id, "/about", "search_about")
    tables.settle()
    index = {
        "state": "error",
        "last_error": _REFUSED,
        "skipped_nodes": [{"json_pointer": "/about", "reason": coded("table.nul", place="4")}],
    }
    world.sql.execute("update tool set metadata = %s where id = %s", (json.dumps({"search_index": index}), broken))
    world.projects.create_endpoint(None, tables.project, name="先生のエージェント", tools=[tool])
    world.projects.replace_synonyms(None, tables.project, [("解の公式", "かいのしき")])
    return tool


def add_troubles(world: World, content: Content) -> None:
    """Adds work that waits, dead letters and refused questions."""
    _wait(world, coded("vendor.slow", seconds="20"))
    for key in ("junior/確率の基本_教材.html", "junior/一次関数_教材.html"):
        content.sqs.send_message(QueueUrl="dead-material", MessageBody=json.dumps(s3_message(key)))
    questions = RefusedQuestions(world.client)
    for question, target in (
        ("微積分の歴史", None),
        ("円周率の求め方は?", None),
        ("円周率を計算したい", None),
        ("英単語の覚え方", content.tool),
    ):
        questions.record(question, target)
    world.sql.execute(
        "insert into daily_count (day, key, name, shard, total)"
        " select (now() at time zone 'utc')::date - ago, 'public', name, 0, 1 + (ago * 37 + size) % size"
        " from generate_series(0, 29) ago, (values ('asked', 400), ('refused', 20), ('weak', 30), ('ms:150', 90),"
        " ('ms:300', 9), ('fresh:3000', 9)) counter(name, size)"
    )
    world.sql.execute("select add_tokens('embedding', 120000), add_tokens('learns', 30000)")


def _wait(world: World, reason: str) -> None:
    since = datetime.now(UTC).isoformat()
    world.work_records.wait(WorkRow("page", _MATERIAL), "m1", since=since, reason=reason, vendor="openai", seconds=60)


def add_hostile_texts(world: World, tables: TableWorld, content: Content) -> None:
    """Adds markup wherever somebody else may write a text."""
    title = HOSTILE.replace("<", "&lt;")
    section = f"<section id='rule-a'><h3>{title}</h3>{title}</section>"
    page = f"<!DOCTYPE html><title>{title}</title><h1>{title}</h1>{section}"
    world.put("hostile/'\"><b>{{ 7 * 7 }}.html", page.encode())
    _wait(world, HOSTILE)
    content.sqs.send_message(QueueUrl="dead-material", MessageBody=HOSTILE)
    RefusedQuestions(world.client).record(HOSTILE, content.tool)
    world.projects.create_endpoint(None, tables.project, name=HOSTILE[:60], tools=[content.tool])
    world.projects.replace_synonyms(None, tables.project, [(HOSTILE[:60], "二次")])
