"""A whole stack for the length of a test session."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from sakuin_local.data_folder import claimed
from sakuin_local.stack import Stack, running_stack
from sakuin_local.steps import Steps
from sakuin_local.warm import warm_api, warm_mcp


@contextmanager
def stack_in(folder: Path, *, port: int = 0) -> Iterator[Stack]:
    """The deployed template and all it talks to, empty and warm, at a free port; stopped when the block ends."""
    folder = folder.resolve()
    console = Console(stderr=True, force_terminal=False)
    with (
        claimed(folder),
        Steps(console, threading.Event()) as steps,
        running_stack(folder, steps, port=port) as stack,
    ):
        warm_api(stack)
        warm_mcp(stack)
        yield stack
