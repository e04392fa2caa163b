"""The product's own command, run against a running stack."""

import json
import sys
from pathlib import Path
from typing import Any

from sakuin_local.environment_file import environment_for
from sakuin_local.stack import Stack


def sakuin(stack: Stack, *arguments: str) -> Any:
    """Run `sakuin … --json`; the document it printed. Its failure is an error."""
    program = Path(sys.executable).with_name("sakuin")
    name = f"sakuin-{arguments[0]}"
    printed = stack.programs.run(name, [program, *arguments, "--json"], environment_for(stack.environment))
    return json.loads(printed)
