"""The local stack's embeddings as a program, where `sakuin up` has them: the model would stay in the tests' memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sakuin_local.addresses import LOOPBACK, free_port
from sakuin_local.processes import Programs
from sakuin_local.vendors import start_embeddings


@contextmanager
def running_model(folder: Path) -> Iterator[str]:
    """The endpoint's URL while the block runs; it keeps its vectors in `folder / "vectors.sqlite"`."""
    programs, port = Programs(folder), free_port()
    try:
        start_embeddings(folder, programs, port=port)
        yield f"http://{LOOPBACK}:{port}/v1"
    finally:
        programs.stop()
