"""A run of the tests: shared folder, order, and the last lines of the report."""

import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sakuin_local.processes import end_leftovers

from tests.parallel import OWN, SCHEDULER, SHARED, SUMMARY, TESTS, Parts, parts_below, paths_of

# Much longer than a process takes to end.
ENDED_SECONDS = 30


def pytest_configure(config: pytest.Config) -> None:
    of_worker = getattr(config, "workerinput", None)
    config.stash[SHARED] = Path(of_worker["shared"] if of_worker else tempfile.mkdtemp(prefix="sakuin-tests-"))
    config.stash[SUMMARY] = set()
    if of_worker:
        config.stash[OWN] = paths_of(of_worker["part"])
    elif config.getoption("numprocesses", None):
        asked = {Path(config.invocation_params.dir, arg.partition("::")[0]).resolve() for arg in config.args}
        config.stash[SCHEDULER] = Parts(parts_below(asked))
        # Not where processes are told what to do: it would take 50 MB there.
        return
    config.pluginmanager.import_plugin("tests.each_process")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells a process of pytest-xdist where the run's shared folder is, and its part."""
    node.workerinput["shared"] = str(node.config.stash[SHARED])
    node.workerinput["part"] = node.config.stash[SCHEDULER].take(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config) -> Parts:
    return config.stash[SCHEDULER]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Keeps a process from importing what belongs to other parts."""
    own = config.stash.get(OWN, None)
    return True if own is not None and collection_path not in own and TESTS in collection_path.parents else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (own := config.stash.get(OWN, None)) is not None:
        # A file that the command line names is collected although it is ignored.
        items[:] = [item for item in items if item.path in own]


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Drops the output of a test that passed: pytest keeps every report until the end."""
    if report.passed:
        report.sections.clear()
        report.keywords = {}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Ends a process that completed its part, and starts one for the next part."""
    output = getattr(node, "workeroutput", {})
    node.config.stash[SUMMARY].update(output.get("summary", ()))
    if error:
        return  # pytest-xdist starts another one
    node.ensure_teardown()
    with suppress(subprocess.TimeoutExpired):
        # The next one starts when the memory is free again.
        node.gateway._io.popen.wait(ENDED_SECONDS)
    run = node.config.pluginmanager.get_plugin("dsession")
    interrupted = output["exitstatus"] == pytest.ExitCode.INTERRUPTED
    stopped = run.shouldstop or output["shouldstop"] or output["shouldfail"] or interrupted
    if node.config.stash[SCHEDULER].waiting and not stopped:
        run._clone_node(node)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    result = yield
    if parts := session.config.stash.get(SCHEDULER, None):
        session.testscollected = parts.collected
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["summary"] = list(session.config.stash[SUMMARY])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in sorted(config.stash[SUMMARY]):
        terminalreporter.write_line(line)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        end_leftovers(config.stash[SHARED] / "postgres")
        shutil.rmtree(config.stash[SHARED])
