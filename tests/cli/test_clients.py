"""What the clients of a deployment make of its answers, and how they wait for it."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from sakuin.errors import Invalid, Misconfigured, NotFound, SakuinError, Unavailable
from sakuin_cli.agent import AgentClient
from sakuin_cli.client import DeploymentClient
from sakuin_cli.rest import session
from sakuin_cli.waiting import await_upload_results, poll

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Operator
from tests.cli.deployment import ADMIN_KEY, API_KEY


def a_deployment(status: int, body: Any = None, text: str | None = None) -> DeploymentClient:
    """One behind which every question has the same answer."""
    content = {"text": text} if text is not None else {"json": body}
    transport = httpx.MockTransport(lambda _request: httpx.Response(status, **content))
    return DeploymentClient(httpx.Client(transport=transport, base_url="http://sakuin"))


@pytest.mark.parametrize(
    ("status", "kind", "sentence"),
    [
        (401, Misconfigured, "Correct SAKUIN_ADMIN_KEY"),
        (404, NotFound, "Is SAKUIN_URL the address of a Sakuin?"),
        (422, Invalid, "rejected the request"),
        (429, Unavailable, "Try again"),
        (502, Unavailable, "Try again"),
    ],
)
def test_refusals_say_what_to_do(status: int, kind: type[SakuinError], sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        a_deployment(status, text="<html>").call("GET", "status")


def test_a_deployments_own_sentence_is_passed_on() -> None:
    with pytest.raises(Unavailable, match="Supabase did not answer"):
        a_deployment(503, {"detail": "Supabase did not answer"}).call("GET", "status")
    with pytest.raises(Invalid, match=r"^'name' is required$"):
        a_deployment(422, {"detail": "'name' is required", "code": "invalid", "request_id": "r"}).call("GET", "status")


def test_another_program_at_the_address_is_noticed() -> None:
    with pytest.raises(Misconfigured, match="is not Sakuin"):
        a_deployment(200, text="<html>hello</html>").call("GET", "status")


def test_more_versions_than_a_request_may_have_are_asked_in_portions(operator: Operator) -> None:
    version = operator.deployment.put("x.html", a_page(FORMULA))
    client = DeploymentClient(session(operator.deployment.url, ADMIN_KEY))
    asked = [("x.html", version), *((f"{number}.html", "v") for number in range(1200))]
    assert [result["outcome"] for result in client.upload_results(asked)[0]] == ["applied"]


@pytest.fixture
def agent(operator: Operator) -> AgentClient:
    operator.deployment.put("x.html", a_page(FORMULA))
    return AgentClient(f"{operator.deployment.url}/mcp", API_KEY)


def test_a_wrong_key_and_a_wrong_address_name_the_setting(operator: Operator) -> None:
    with pytest.raises(Misconfigured, match="SAKUIN_API_KEY"):
        AgentClient(f"{operator.deployment.url}/mcp", "wrong").call("search_knowledge", {"query": "x"})
    with pytest.raises(Unavailable, match="SAKUIN_URL"):
        AgentClient("http://127.0.0.1:1/mcp", API_KEY).call("search_knowledge", {"query": "x"})


def test_a_key_is_never_shown() -> None:
    assert API_KEY not in repr(AgentClient("http://127.0.0.1:1/mcp", API_KEY))
    assert ADMIN_KEY not in repr(DeploymentClient(session("http://127.0.0.1:1", ADMIN_KEY)))


class Time:
    """A clock that only `sleep` moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)

    def poll(self, seconds: float) -> Iterator[None]:
        return poll(seconds, clock=lambda: self.now, sleep=self.sleep)


def test_it_asks_less_and_less_often_until_the_time_is_over() -> None:
    time = Time()
    asked = sum(1 for _ in time.poll(20))
    assert (time.now, asked) == (pytest.approx(20), len(time.pauses) + 1)
    assert time.pauses[:-1] == sorted(time.pauses[:-1])
    assert time.pauses[0] == pytest.approx(0.1)
    assert time.pauses[-2] == pytest.approx(1)


def test_without_time_it_asks_once() -> None:
    time = Time()
    assert (sum(1 for _ in time.poll(0)), time.pauses) == (1, [])


def applied_after(failures: int) -> DeploymentClient:
    """A deployment that does not answer so often, and then has applied what it is asked about."""
    left = [503] * failures

    def answer(_request: httpx.Request) -> httpx.Response:
        result = {"key": "x.html", "version_id": "1", "outcome": "applied", "reason": None}
        return httpx.Response(left.pop()) if left else httpx.Response(200, json={"results": [result], "waiting": []})

    return DeploymentClient(httpx.Client(transport=httpx.MockTransport(answer), base_url="http://sakuin"))


def test_a_deployment_that_restarts_is_waited_for_and_one_that_is_gone_is_reported() -> None:
    counts: list[int] = []
    found = await_upload_results(applied_after(11), [("x.html", "1")], Time().poll(60), on_progress=counts.append)
    assert (found["x.html", "1"]["outcome"], counts) == ("applied", [1])
    with pytest.raises(Unavailable):
        await_upload_results(applied_after(12), [("x.html", "1")], Time().poll(60), on_progress=counts.append)


def test_a_deployment_that_does_not_answer_in_time_has_no_results() -> None:
    found = await_upload_results(applied_after(11), [("x.html", "1")], Time().poll(0), on_progress=lambda _count: None)
    assert found == {}
