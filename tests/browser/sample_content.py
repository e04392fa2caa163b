"""A library, a project and an operator's day: something of everything that the console shows."""

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sakuin.platform.waiting import WorkRow
from sakuin.texts.catalogue import coded, stored
from sakuin.upkeep.refused_questions import RefusedQuestions
from sakuin_local.samples import samples_in

from tests.doubles.sqs import ModelledSqs
from tests.events import s3_message
from tests.worlds import TableWorld, World

HOSTILE = "\"'><script>alert(1)</script><img src=//elsewhere.example/x onerror=alert(2)>\u202e{{ 7 * 7 }}"
_REFUSED = coded("vendor.refused", service="embedding service", status=401, model="EMBEDDING_MODEL")


@dataclass(frozen=True, slots=True)
class Sample:
    """What is shown in one language: `changed` is behind, `unreadable` is no HTML, `given_up` are dead letters.

    `refused` are questions without an answer, the last one to the Table.
    """

    changed: str
    unreadable: str
    given_up: tuple[str, str]
    project: str
    table: str
    endpoint: str
    key: str
    synonyms: tuple[str, str]
    refused: tuple[str, str, str, str]


SAMPLES = {
    "ja": Sample(
        changed="senior/微分と接線_教材",
        unreadable="junior/図形の性質_教材",
        given_up=("junior/確率の基本_教材", "junior/一次関数_教材"),
        project="学校の教材",
        table="学習コラム",
        endpoint="先生のエージェント",
        key="研究室のエージェント",
        synonyms=("解の公式", "かいのしき"),
        refused=("微積分の歴史", "円周率の求め方は?", "円周率を計算したい", "英単語の覚え方"),
    ),
    "en": Sample(
        changed="retention",
        unreadable="network",
        given_up=("alerts", "plans"),
        project="Support",
        table="answers",
        endpoint="Helpdesk",
        key="Support's agent",
        synonyms=("vault", "backup target"),
        refused=(
            "Who founded the company?",
            "Is there an app for phones?",
            "app for my phone",
            "Is there a discount for students?",
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Content:
    """What flows use: the queues, and the ids of the project and of a Search Tool."""

    sqs: ModelledSqs
    project: str
    tool: str


def add_content(world: World, tables: TableWorld, owner: str, *, is_hostile: bool, language: str = "ja") -> Content:
    """Fills an empty deployment with the samples of a language; with `is_hostile` also with texts of attackers."""
    sample = SAMPLES[language]
    add_pages(world, samples_in(language).folder, sample)
    tool = add_project(world, tables, owner, samples_in(language).table, sample)
    content = Content(ModelledSqs(now=time.time()), tables.project, tool)
    add_troubles(world, content, sample)
    if is_hostile:
        add_hostile_texts(world, tables, content)
    return content


def add_pages(world: World, folder: Path, sample: Sample) -> None:
    """Indexes the samples, and pages with which something is wrong."""
    world.bucket.now = datetime.now(UTC) - timedelta(seconds=4)
    for file in sorted([*folder.rglob("learns.yml"), *folder.rglob("*.html")]):
        world.bucket.write(file.relative_to(folder).as_posix(), file.read_bytes())
    world.bucket.write(f"{sample.unreadable}.html", b"%PDF-1.7")
    world.settle()
    # Written since it was indexed: the index is behind.
    changed = (folder / f"{sample.changed}.html").read_text().replace('id="', 'id="new-', 1)
    world.bucket.write(f"{sample.changed}.html", changed.encode())
    world.bucket.forget_messages()


def add_project(world: World, tables: TableWorld, owner: str, file: Path, sample: Sample) -> str:
    """Creates a project with an indexed Table, an endpoint and members; returns the id of its Tool."""
    world.sql.execute("update project set name = %s where id = %s", [sample.project, tables.project])
    for user, role in ((owner, "owner"), ("00000000-0000-4000-8000-0000000000b2", "viewer")):
        world.projects.add_member(None, tables.project, user, role)
    document = json.loads(file.read_text())
    made = world.services.projects.tables.create(
        None, tables.project, name=sample.table, document=document, chunk_threshold_chars=None
    )
    tool = tables.tool(made.id, "/articles", f"search_{file.stem if file.stem.isascii() else 'columns'}")
    broken = tables.tool(made.id, "/articles/0", "search_first")
    tables.settle()
    index = {
        "state": "error",
        "last_error": stored(_REFUSED),
        "skipped_nodes": [{"json_pointer": "/articles/0", "reason": stored(coded("table.nul", place="4"))}],
    }
    world.sql.execute("update tool set metadata = %s where id = %s", (json.dumps({"search_index": index}), broken))
    world.projects.create_endpoint(None, tables.project, name=sample.endpoint, tools=[tool])
    world.projects.replace_synonyms(None, tables.project, [sample.synonyms])
    return tool


def add_troubles(world: World, content: Content, sample: Sample) -> None:
    """Adds work that waits, dead letters and refused questions."""
    _wait(world, sample.changed, coded("vendor.slow", seconds="20"))
    for page in sample.given_up:
        content.sqs.send_message(QueueUrl="dead-material", MessageBody=json.dumps(s3_message(f"{page}.html")))
    questions = RefusedQuestions(world.client)
    for question, target in zip(sample.refused, (None, None, None, content.tool), strict=True):
        questions.record(question, target)
    world.sql.execute(
        "insert into daily_count (day, key, name, shard, total)"
        " select (now() at time zone 'utc')::date - ago, 'public', name, 0, 1 + (ago * 37 + size) % size"
        " from generate_series(0, 29) ago, (values ('asked', 400), ('refused', 20), ('weak', 30), ('ms:150', 90),"
        " ('ms:300', 9), ('fresh:3000', 9)) counter(name, size)"
    )
    world.sql.execute("select add_tokens('embedding', 120000), add_tokens('learns', 30000)")


def _wait(world: World, page: str, reason: str) -> None:
    since = datetime.now(UTC).isoformat()
    world.work_records.wait(WorkRow("page", page), "m1", since=since, reason=reason, vendor="openai", seconds=60)


def add_hostile_texts(world: World, tables: TableWorld, content: Content) -> None:
    """Adds markup wherever somebody else may write a text."""
    title = HOSTILE.replace("<", "&lt;")
    section = f"<section id='rule-a'><h3>{title}</h3>{title}</section>"
    page = f"<!DOCTYPE html><title>{title}</title><h1>{title}</h1>{section}"
    world.put("hostile/'\"><b>{{ 7 * 7 }}.html", page.encode())
    _wait(world, SAMPLES["ja"].changed, HOSTILE)
    content.sqs.send_message(QueueUrl="dead-material", MessageBody=HOSTILE)
    RefusedQuestions(world.client).record(HOSTILE, content.tool)
    world.projects.create_endpoint(None, tables.project, name=HOSTILE[:60], tools=[content.tool])
    world.projects.replace_synonyms(None, tables.project, [(HOSTILE[:60], "二次")])
