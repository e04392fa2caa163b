"""`python -m tests.golden record` keeps what a deployment answers, `check` compares a deployment with what is kept."""

import argparse
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.golden import files
from tests.golden.commands import commands
from tests.golden.compare import Difference, differences, read_allowed, separate
from tests.golden.deployment import Deployment
from tests.golden.helps import helps, up
from tests.golden.local_stack import read_settings, running_stack
from tests.golden.outages import outages
from tests.golden.protocol import mcp
from tests.golden.rest import openapi, rest
from tests.golden.rest_projects import projects
from tests.golden.rows import rows
from tests.golden.searches import knowledge, tables

# In this order: rows are those of a new stack, and commands and outages change what is searched.
KINDS: Mapping[str, Callable[[Deployment], files.Entries]] = {
    "rows": rows,
    "up": up,
    "openapi": openapi,
    "mcp": mcp,
    "knowledge": knowledge,
    "tables": tables,
    "rest": rest,
    "projects": projects,
    "helps": helps,
    "commands": commands,
    "outages": outages,
}
# These look at the program `sakuin up`.
_OF_OWN_STACKS = ("up", "outages")


def main(arguments: Sequence[str] | None = None) -> int:
    """Records or checks; returns 0, or 1 where something differs or could not be asked."""
    asked = _parser().parse_args(arguments)
    allowed = read_allowed(asked.allow) if asked.allow else []
    found: list[Difference] = []
    # The canary's page comes and goes, and lists would show it.
    with _deployment(asked.env, asked.url) as deployment, deployment.without_schedule("Canary"):
        _prepare(deployment)
        for kind in _kinds(asked.only, own=deployment.process_id is not None):
            began = time.monotonic()
            try:
                entries = KINDS[kind](deployment)
            except Exception as error:
                # The other kinds may still say something.
                traceback.print_exc()
                found.append(Difference(kind, "answers", f"{type(error).__name__}: {error}"))
                continue
            done = f"{kind:10} {len(entries):5,} answers in {time.monotonic() - began:4.0f} s"
            if asked.what == "record":
                files.write(asked.folder, kind, entries)
                print(f"{done}: recorded", flush=True)
            else:
                new = list(differences(files.read(asked.folder, kind), entries, kind))
                found += new
                print(f"{done}: {_outcome(*separate(new, allowed)[:2])}", flush=True)
    refused, _, unused = separate(found, allowed)
    if unused and not asked.only:
        print("allowed, and not found:", *(each.place for each in unused), sep="\n  ")
    print(_details(refused, most=asked.show), end="")
    return 1 if refused else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("what", choices=("record", "check"))
    parser.add_argument("--env", type=Path, metavar="FILE", help="ask the stack of this file of `sakuin up`")
    parser.add_argument("--url", help="ask the stack at this address, with the settings of the environment")
    parser.add_argument("--only", nargs="+", choices=KINDS, metavar="KIND", help=f"only these: {', '.join(KINDS)}")
    parser.add_argument("--folder", type=Path, default=files.RECORDED, help="where the recording is")
    parser.add_argument("--allow", type=Path, metavar="FILE", help="patterns of differences that are made on purpose")
    parser.add_argument("--show", type=int, default=20, metavar="N", help="differences to print of a kind; 0: all")
    return parser


@contextmanager
def _deployment(env: Path | None, url: str | None) -> Iterator[Deployment]:
    if env is not None or url is not None:
        settings = dict(os.environ) if env is None else read_settings(env)
        yield Deployment({**settings, **({} if url is None else {"SAKUIN_URL": url})})
        return
    print("starting a stack of its own, with the samples …", flush=True)
    with tempfile.TemporaryDirectory(prefix="sakuin-golden-") as folder, running_stack(Path(folder)) as deployment:
        yield deployment


def _prepare(deployment: Deployment) -> None:
    """Waits until the samples are indexed and nothing moves any more."""
    [tool] = deployment.api("GET", f"/v1/projects/{deployment.environment['SAKUIN_PROJECT']}/tools")["tools"]
    deployment.wait_for_tool(tool["id"])
    deployment.wait_for_rest()


def _kinds(only: Sequence[str] | None, *, own: bool) -> list[str]:
    wanted = [kind for kind in KINDS if kind in (only or KINDS)]
    left_out = [] if own else [kind for kind in wanted if kind in _OF_OWN_STACKS]
    if left_out:
        print(f"left out, because somebody else started the stack: {', '.join(left_out)}")
    return [kind for kind in wanted if kind not in left_out]


def _outcome(refused: Sequence[Difference], permitted: Sequence[Difference]) -> str:
    parts = [f"{len(refused):,} differences" if refused else "equal"]
    return ", ".join([*parts, f"{len(permitted):,} allowed"] if permitted else parts)


def _details(refused: Sequence[Difference], *, most: int) -> str:
    parts = []
    for kind in dict.fromkeys(each.kind for each in refused):
        of_kind = [each for each in refused if each.kind == kind]
        shown = of_kind[: most or None]
        parts += [f"\n{kind}", *map(str, shown)]
        if len(shown) < len(of_kind):
            parts.append(f"… and {len(of_kind) - len(shown):,} more (--show 0)")
    return "".join(f"{part}\n" for part in parts)


if __name__ == "__main__":
    sys.exit(main())
