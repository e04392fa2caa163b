"""The checks of `sakuin doctor`: a deployment from outside; `/v1/doctor` checks it from inside."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import httpx
from botocore.exceptions import BotoCoreError, ClientError
from sakuin import __version__
from sakuin.errors import Misconfigured, SakuinError
from sakuin.platform.s3 import S3Bucket
from sakuin.retrieval.weights import weights_of
from sakuin.upkeep.doctor import MOST_SECONDS_APART, Problem

from sakuin_cli.connections import agent_of, aws_client, deployment_of
from sakuin_cli.settings import CommandSettings, required
from sakuin_cli.site.library import LibraryFiles
from sakuin_cli.terminal import counted
from sakuin_cli.waiting import await_upload_results, poll

# Searches leave out this folder (sakuin.upkeep.canary). The page explains nothing, so nothing is embedded.
PROBE_KEY = "_sakuin/doctor.html"
_PROBE = b"<!doctype html><html lang=en><title>Doctor</title><body><p>A page of sakuin doctor.</p></body></html>"
# Concurrent executions beside the workers: `maintain` and its canary, `mcp` and `api`.
RESERVED_FOR_THE_REST = 4
_WORKERS = ("PageWorkers", "ScanWorkers", "EmbedWorkers")


@dataclass(frozen=True, slots=True)
class Report:
    """What was found. `unchecked` has the reason for each check that could not be made."""

    problems: list[Problem] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    unchecked: dict[str, str] = field(default_factory=dict)


class _Unchecked(Exception):
    """The reason for a check that cannot be made here."""


@dataclass(frozen=True, slots=True)
class Examination:
    """All checks, for the settings of a command. `event_seconds` is the longest time until an upload has its result."""

    settings: CommandSettings
    event_seconds: float = 60.0
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    @property
    def checks(self) -> dict[str, Callable[[CommandSettings], Iterator[Problem]]]:
        """The checks of a deployment by name, in their order."""
        return {
            "deployment": self._deployment,
            "admin key": self._inside,
            "agent key": self._agent_key,
            "similarity": self._similarity,
            "bucket events": self._bucket_events,
            "queues": self._queues,
            "concurrency": self._concurrency,
        }

    def __call__(self) -> Report:
        """Makes each check. Without an answer of the API those that need it are left out."""
        report = Report()
        for name, check in self.checks.items():
            if name != "deployment" and any(one.check == "deployment" for one in report.problems):
                report.unchecked[name] = "the API does not answer"
            else:
                self._run(name, partial(check, self.settings), report)
        return report

    def _run(self, name: str, check: Callable[[], Iterator[Problem]], report: Report) -> None:
        try:
            report.problems.extend(check())
        except _Unchecked as reason:
            report.unchecked[name] = str(reason)
        except SakuinError as error:
            problem, _, advice = str(error).partition(". ")
            report.problems.append(Problem(name, problem, advice or "docs/how-to/deploy.md, step 8."))
        else:
            report.checked.append(name)

    def _deployment(self, settings: CommandSettings) -> Iterator[Problem]:
        """Checks that the API answers, in the version of this command."""
        try:
            answer = httpx.get(f"{settings.url}/healthz", timeout=35)
            version = answer.json()["version"]
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, LookupError, TypeError):
            advice = "Start it with `sakuin up`, or correct SAKUIN_URL; then docs/runbooks.md#error-rate."
            yield Problem("deployment", f"Sakuin does not answer at {settings.url or 'SAKUIN_URL'}.", advice)
            return
        if version != __version__:
            advice = "Deploy this version, or use the command of the deployed one: docs/how-to/deploy.md, upgrade."
            yield Problem("versions", f"The deployment is {version}, this command {__version__}.", advice)

    def _inside(self, settings: CommandSettings) -> Iterator[Problem]:
        """Has the deployment check itself, and compares the clocks."""
        answer = deployment_of(settings).call("GET", "doctor")
        yield from (Problem(**one) for one in answer["problems"])
        apart = abs((self.now() - datetime.fromisoformat(answer["time"])).total_seconds())
        if apart > MOST_SECONDS_APART:
            advice = "Set the clock of this machine: AWS refuses requests that are five minutes off."
            yield Problem("clock", f"This machine's clock differs by {apart:.0f} seconds.", advice)

    def _agent_key(self, settings: CommandSettings) -> Iterator[Problem]:
        """Calls a tool as an agent does, one that needs no embedding."""
        agent_of(settings, "list_materials").call("list_materials", {})
        yield from ()

    def _similarity(self, settings: CommandSettings) -> Iterator[Problem]:
        """Says whether similarities were measured with the model and the analyzer of the live index version."""
        try:
            indexes = deployment_of(settings).call("GET", "index")["indexes"]
        except SakuinError as error:
            # The check of the deployment from inside says why.
            raise _Unchecked(str(error)) from error
        for live in (index["settings"] for index in indexes if index["live"]):
            if not weights_of(live["model"]["name"], live["analyzer"]).is_calibrated:
                raise _Unchecked(f"it is uncalibrated with {live['model']['name']}; `sakuin eval` measures it")
        yield from ()

    def _bucket_events(self, settings: CommandSettings) -> Iterator[Problem]:
        """Uploads a page, waits for its result, and removes it."""
        if not settings.bucket:
            raise _Unchecked("SAKUIN_BUCKET is not set")
        # No key of the API opens the folder of the deployment's own pages.
        bucket = S3Bucket(aws_client(settings, "s3"), settings.bucket)
        key, client = LibraryFiles.of(deployment_of(settings)).prefix + PROBE_KEY, deployment_of(settings)
        indexed_before = client.call("GET", "status")["last_indexed"]
        version = bucket.write(key, _PROBE, content_type="text/html; charset=utf-8")
        try:
            attempts = poll(self.event_seconds)
            results = await_upload_results(client, [(key, version)], attempts, on_progress=lambda _done: None)
        finally:
            bucket.remove(key)
        if not results:
            seconds = f"{self.event_seconds:.0f} seconds"
            states = client.call("GET", "queues")["queues"] or ()
            waiting = sum(state["waiting"] for state in states if state["queue"] == "material")
            if waiting and client.call("GET", "status")["last_indexed"] != indexed_before:
                raise _Unchecked(f"workers are busy: {counted(waiting, 'message')} about pages waited after {seconds}")
            advice = "Look at docs/runbooks.md#oldest-message, then docs/runbooks.md#freshness."
            yield Problem("bucket events", f"An upload had no result after {seconds}.", advice)

    def _queues(self, settings: CommandSettings) -> Iterator[Problem]:
        """Names dead letters."""
        client = deployment_of(settings)
        try:
            queues = client.call("GET", "queues")
        except SakuinError as error:
            # The check of the deployment from inside says why.
            raise _Unchecked(str(error)) from error
        if queues["queues"] is None:
            raise _Unchecked("SQS does not answer")
        if dead := {state["queue"]: state["dead_letters"] for state in queues["queues"] if state["dead_letters"]}:
            named = ", ".join(f"{queue} {count:,}" for queue, count in dead.items())
            advice = "`sakuin redrive` shows each with its reason, sends it again or discards it."
            yield Problem("dead letters", f"{counted(sum(dead.values()), 'dead letter')} ({named}).", advice)

    def _concurrency(self, settings: CommandSettings) -> Iterator[Problem]:
        """Compares the concurrent executions that Lambda allows the account with those that the stack may use."""
        try:
            stack = required(settings.stack, "SAKUIN_STACK", "sakuin")
            described = aws_client(settings, "cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
            limit = aws_client(settings, "lambda").get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
        except (Misconfigured, BotoCoreError, ClientError, LookupError) as error:
            raise _Unchecked("neither the stack nor Lambda (lambda:GetAccountSettings) told the limit") from error
        values = {each["ParameterKey"]: each["ParameterValue"] for each in described.get("Parameters", ())}
        needed = sum(int(values.get(name, 0)) for name in _WORKERS) + RESERVED_FOR_THE_REST
        if limit < needed:
            advice = "Ask AWS for 1,000, or lower the workers: docs/how-to/deploy.md, step 2."
            problem = f"The account has {limit} concurrent executions; the stack may need {needed}."
            yield Problem("concurrency", problem, advice)


def examine(data: Path | None) -> Report:
    """Makes all checks with the settings of the current command."""
    try:
        settings = CommandSettings.load(data)
    except Misconfigured as error:
        return Report([Problem("settings", f"{error}.", "docs/how-to/deploy.md, step 8.")])
    return Examination(settings)()
