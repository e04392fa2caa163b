"""A run of the tests: shared folder, order, and the last lines of the report."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from sakuin_local.processes import end_leftovers

from tests.parallel import SHARED, SUMMARY, Parts, in_order


def pytest_configure(config: pytest.Config) -> None:
    of_worker = getattr(config, "workerinput", None)
    config.stash[SHARED] = Path(of_worker["shared"] if of_worker else tempfile.mkdtemp(prefix="sakuin-tests-"))
    config.stash[SUMMARY] = set()
    if of_worker or not config.getoption("numprocesses", None):
        # Not where workers are told what to do: it would take 50 MB there.
        config.pluginmanager.import_plugin("tests.each_process")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells a worker of pytest-xdist where the run's shared folder is."""
    node.workerinput["shared"] = str(node.config.stash[SHARED])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Parts:
    return Parts(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items[:] = in_order(items)


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Drops the output of a test that passed: pytest keeps every report until the end."""
    if report.passed:
        report.sections.clear()
        report.keywords = {}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[SUMMARY].update(getattr(node, "workeroutput", {}).get("summary", ()))


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
