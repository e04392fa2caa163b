"""The terminal of a reader who types the commands of a document into the local stack."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.effort import EFFORT

# Where the local stack of a reader answers.
ADDRESS = "http://127.0.0.1:8787"
# With more effort the stack begins without recorded vectors: its samples are still embedded when a document begins.
SECONDS = 60 * EFFORT
# What a reader writes in the place of these names is what a command printed beside them.
PRINTED = re.compile(r"^ *(table_id|tool_id|mcp_id|hash|key) +(\S+)$", re.MULTILINE)


@dataclass
class Terminal:
    """A reader's terminal, in a folder and a home of their own. Programs in `bin` of the folder go before others.

    `known` has what the reader writes in the place of a name, and the variables of these names.
    """

    folder: Path
    address: str
    known: dict[str, str] = field(default_factory=dict)
    seconds: int = SECONDS
    printed: str = ""

    def types(self, command: str) -> str:
        """Runs a command with the variables and functions of those before it; returns what it prints."""
        for name, value in self.known.items():
            command = re.sub(rf"(?<!\$)\b{re.escape(name)}\b", value, command)
        state = self.folder / ".state"
        script = f"[ ! -e {state} ] || source {state}\n{command}\n{{ export -p; declare -f; }} > {state}"
        environment = {
            **{name: value for name, value in self.known.items() if name.isidentifier()},
            "PATH": f"{self.folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script.replace(ADDRESS, self.address)],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=self.seconds,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        self.printed += done.stdout
        self.known |= {("ENDPOINT_KEY" if n == "key" else n.upper()): v for n, v in PRINTED.findall(done.stdout)}
        return done.stdout

    def saves(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def installs(self, program: str, script: str) -> None:
        """Puts a program of one or more lines of shell into `bin`."""
        self.saves(f"bin/{program}", f"#!/bin/sh -e\n{script}\n")
        (self.folder / "bin" / program).chmod(0o755)
