"""`python -m tests.hostile SECONDS [TARGET…]`: fuzzes in turns and prints inputs, speed and failures by target."""

import logging
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.platform.supabase.client import connected
from sakuin_local.supabase.database import running_database

from tests.builders import a_page
from tests.hanging import ended_when_it_hangs
from tests.hostile.targets import Target, requests_to, targets
from tests.worlds import World

INPUTS_A_TURN = 400
# A turn takes some seconds; what takes this long hangs.
HUNG_SECONDS = 300


@dataclass
class Tally:
    """The results of a target; `failures` are its first few, each with the example that repeats it."""

    inputs: int = 0
    seconds: float = 0.0
    failures: dict[str, str] = field(default_factory=dict)


def turn(target: Target, tally: Tally, number: int) -> None:
    """Tries some hundred new inputs; records the smallest of those that fail."""

    @seed(number)
    @settings(
        max_examples=INPUTS_A_TURN,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(target.inputs)
    def holds(given_input: object) -> None:
        tally.inputs += 1
        target.holds(given_input)

    started = time.process_time()
    try:
        with ended_when_it_hangs(HUNG_SECONDS):
            holds()
    except (Exception, pytest.fail.Exception) as error:
        # One failing target does not end the run of the others.
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} at {last.filename.rpartition('/')[2]}:{last.lineno}"
        example = "\n".join(getattr(error, "__notes__", ()))
        tally.failures.setdefault(place, f"seed {number}: {error}\n{example}"[:3000])
    tally.seconds += time.process_time() - started


def main(seconds: float, names: list[str]) -> int:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder, a_library(Path(folder)) as tools:
        all_targets = {**targets(), "MCP requests": requests_to(tools)}
        chosen = {name: target for name, target in all_targets.items() if not names or name in names}
        tallies = {name: Tally() for name in chosen}
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            for name, target in chosen.items():
                turn(target, tallies[name], random.randrange(2**32))
    for name, tally in tallies.items():
        speed = tally.inputs / max(tally.seconds, 0.001)
        print(f"{name:18} {tally.inputs:>9,} inputs {speed:>8,.0f} a second of CPU  {len(tally.failures)} failures")
    inputs, hours = sum(tally.inputs for tally in tallies.values()), (time.monotonic() - began) / 3600
    failures = [*_failures(tallies)]
    print(f"{'together':18} {inputs:>9,} inputs in {hours:.2f} hours, {len(failures)} failures")
    print("\n".join(failures))
    return bool(failures)


@contextmanager
def a_library(folder: Path) -> Iterator[KnowledgeTools]:
    """Yields the tools of a library of one page, on a database that runs while the block does."""
    with running_database(folder) as database, psycopg.connect(database.dsn_postgres, autocommit=True) as sql:
        world = World(database, connected(database.rest_url, database.service_key), sql)
        world.put("a.html", a_page({"rule-a": "解の公式: 公式に代入する。"}))
        yield KnowledgeTools(world, world.read)


def _failures(tallies: dict[str, Tally]) -> Iterator[str]:
    for name, tally in tallies.items():
        for place, example in tally.failures.items():
            yield f"\n{name}: {place}\n{example}"


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 60, sys.argv[2:]))
