"""The browser of the tests: a process of Node.js with a Chromium that takes flows."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.clients.node import ROOT, node

INSTALLED = ROOT / ".tools" / "browser"
_ENDED_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Browser:
    """One Chromium. Each flow has cookies and tabs of its own."""

    process: "subprocess.Popen[str]"

    def run(self, flow: str, **given: Any) -> Any:
        """Runs a function of `flows/` and returns its result; fails with what it found wrong."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"flow": flow, "given": given}) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self) -> Any:
        """Returns the next answer of the process."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "The browser did not start, or ended. Run `make clients`; its own words are above"
        read = json.loads(line)
        assert "error" not in read, read["error"]
        return read["result"]


@contextmanager
def started_browser() -> Iterator[Browser]:
    """Starts the browser, and ends it after the block. `CHROMIUM_BIN` names another Chromium than the installed one."""
    assert INSTALLED.exists(), f"{INSTALLED} is not there. Run `make clients`"
    process = subprocess.Popen(
        [node(), str(ROOT / "tests" / "browser" / "driver.mjs")],
        env={name: os.environ[name] for name in ("PATH", "CHROMIUM_BIN") if name in os.environ},
        cwd=INSTALLED,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    browser = Browser(process)
    try:
        browser.answer()
        yield browser
    finally:
        process.stdin and process.stdin.close()
        try:
            process.wait(_ENDED_SECONDS)
        finally:
            process.kill()
