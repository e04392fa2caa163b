"""The console over a library and a project with something of everything, served to a browser."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from fastapi.routing import APIRoute
from sakuin.console.answers import ROOT
from sakuin.console.pages import keys, playground, refused
from sakuin.console.pages.playground import Playground
from sakuin.console.pages.projects import project
from sakuin.console.pages.refused import Refused
from sakuin.console.playground.places import Places
from sakuin.platform.keys import hash_of_key
from sakuin.platform.reconciliation import Difference
from sakuin.platform.retry import Defer
from sakuin.platform.unfinished_work import WorkSubject
from sakuin.retrieval.refused_questions import RefusedQuestions
from sakuin.upkeep.doctor import Problem
from sakuin.wiring.console import operation_pages
from sakuin_local.places import SAMPLES
from sakuin_local.serving import served

from tests.console.console_client import ConsoleClient
from tests.console.operation import operation_over
from tests.doubles.playground import playground as on_this_machine
from tests.doubles.sqs import ModelledSqs
from tests.events import KEY
from tests.world import World

USER = str(uuid4())
# These lead to other pages, or are none.
_NO_PAGES = {"/static/{name}", "/language/{language}"}
_WAITING = "junior/二次方程式の解き方_教材.html"
_PROBLEM = Problem("openai key", "OpenAI refuses the key.", "Add another key to the secret.")


@dataclass(frozen=True, slots=True)
class SampleConsole:
    """A served console. `given` is what every flow needs."""

    world: World
    client: ConsoleClient
    origin: str

    @property
    def link(self) -> str:
        """A new link that signs in."""
        return f"/console/sign-in?code={self.client.sessions.make_link(hash_of_key(KEY))}"

    @property
    def session(self) -> str:
        """The id of a new session of an admin."""
        return self.client.sessions.sign_in_admin(hash_of_key(KEY)).id

    @property
    def routes(self) -> dict[str, str]:
        """The regular expression of the path of each page, by a name that can be one of a file."""
        routes = [route for router in self.client.routers for route in router.routes]
        found = [each for each in routes if isinstance(each, APIRoute) and "GET" in each.methods]
        found = [each for each in found if each.include_in_schema]
        return {
            # JavaScript writes named groups without the P.
            re.sub(r"\W+", "-", each.path).strip("-") or "overview": f"^{ROOT}{each.path_regex.pattern[1:]}".replace(
                "(?P<", "(?<"
            )
            for each in found
            if each.path not in _NO_PAGES
        }


@contextmanager
def sample_console(world: World) -> Iterator[SampleConsole]:
    """Fills the world and serves its console while the block runs."""
    for file in sorted([*SAMPLES.rglob("learns.yml"), *SAMPLES.rglob("*.html")]):
        world.bucket.write(file.relative_to(SAMPLES).as_posix(), file.read_bytes())
    world.settle()
    _fill_project(world)
    operation = operation_over(world, _trouble(world), [_PROBLEM])
    places, questions = Places(world.projects), RefusedQuestions(world.client)
    questions.record("なぜ空は青いのですか", None)
    searches = Playground(places, on_this_machine(world), partial(world.searched.filter_values, limit=50))
    listed = Refused(places, questions.most_frequent, is_recorded=True)
    client = ConsoleClient(
        world,
        *(partial(routes, operation=operation) for routes in operation_pages()),
        lambda shell: playground.routes(shell, searches),
        lambda shell: refused.routes(shell, listed),
        lambda shell: project.routes(shell, world.project_services),
        lambda shell: keys.routes(shell, lambda: [keys.DeploymentKey("admin", hash_of_key(KEY), "2026-11-22")]),
    )
    with served(client.http.app) as port:
        yield SampleConsole(world, client, f"http://127.0.0.1:{port}")


def _trouble(world: World) -> ModelledSqs:
    """Fills the pages about what waits, failed or differs. Returns queues with a dead letter."""
    world.put("unread/broken.html", b"%PDF-1.7")
    world.unfinished.defer(WorkSubject("file", _WAITING), Defer(60, "OpenAI did not answer", "openai"))
    world.runs.take("whole", seconds=60, begin=True)
    world.runs.release("whole", None, [Difference("stale", "a.html", "The bucket has another version.", "checked")])
    for days_ago, slowest in reversed([*enumerate((4, 5, 7, 4, 280, 45, 9, 5, 6, 4, 14, 5))]):
        for seconds in (2, 3, slowest):
            world.sql.execute("select record_freshness('pages', now() - make_interval(secs => %s))", [seconds])
        world.sql.execute(
            "update freshness_day set day = day - %s where day = timezone('utc', now())::date", [days_ago]
        )
    sqs = ModelledSqs()
    sqs.send_message(QueueUrl="dead-material", MessageBody="not JSON")
    return sqs


def _fill_project(world: World) -> None:
    """Creates a project with members, and with a Search Tool whose index has a problem of each kind."""
    records, services = world.projects, world.project_services
    project_id = records.create_project(None, "学校の教材").id
    for user, role in ((USER, "owner"), (str(uuid4()), "viewer")):
        records.add_member(None, project_id, user, role)  # type: ignore[arg-type]
    document = {"articles": [{"text": "二次方程式の解の公式を使う。" * 20}]}
    table = services.tables.create(None, project_id, name="教科書", document=document, chunk_threshold_chars=None)
    place = {"table_id": table.id, "json_path": "/articles", "name": "search_articles", "description": None}
    tool = services.tools.create(None, project_id, **place)  # type: ignore[arg-type]
    index = {
        "state": "error",
        "chunks_count": 120,
        "indexed_chunks_count": 80,
        "last_error": "OpenAI did not accept the key",
        "skipped_nodes": [{"json_pointer": "/articles/3/text", "reason": "Character 4 is NUL"}],
    }
    written = "update public.tool set metadata = %s where id = %s"
    world.sql.execute(written, (json.dumps({"search_index": index}), tool.id))
    services.endpoints.create(None, project_id, name="先生のエージェント", tools=[tool.id])
    records.replace_synonyms(None, project_id, [("解の公式", "かいのしき")])
