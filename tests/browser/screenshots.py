"""Pictures of the console's pages, and what each weighs; `scripts/screenshots` says how to call it."""

import logging
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from sakuin.platform.supabase.client import connected
from sakuin.texts.catalogue import LANGUAGES
from sakuin_local.serving import served
from sakuin_local.supabase.database import running_database
from sakuin_local.turbopuffer.endpoint import application
from sakuin_local.turbopuffer.store import Store

from tests.browser.driving import Browser, started_browser
from tests.browser.sample_console import LOOKS, SampleConsole, sample_console
from tests.clients.node import ROOT
from tests.worlds import World, world_of

IMAGES = ROOT / "docs" / "images"
_ANSWER = "/console/playground?q=解の公式"
_PAGE = "/console/pages/page?material=junior/二次方程式の解き方_教材"
# What README and docs show.
SHOWN = {"overview": "/console/", "playground": _ANSWER}


def main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        sys.exit("usage: scripts/screenshots FOLDER | --docs")
    logging.disable(logging.CRITICAL)
    with sampled_console() as console, started_browser() as browser:
        if arguments == ["--docs"]:
            write_images(browser, console)
        else:
            pages = write_all(browser, console, Path(arguments[0]).resolve())
            print_weights(browser.run("weights", origin=console.origin, session=console.session, pages=pages))


@contextmanager
def sampled_console() -> Iterator[SampleConsole]:
    """Serves the console over a database of its own."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_database(Path(folder)) as database,
        psycopg.connect(database.dsn_postgres, autocommit=True) as sql,
        served(application(Store(Path(folder) / "turbopuffer.sqlite"))) as port,
        sample_console(
            World(database, connected(database.rest_url, database.service_key), sql),
            world_of(database, f"http://127.0.0.1:{port}"),
            is_hostile=False,
        ) as console,
    ):
        yield console


def write_all(browser: Browser, console: SampleConsole, folder: Path) -> dict[str, str]:
    """Takes a picture of each page in each look, as an operator and as a user; returns the operator's addresses."""
    pages: dict[str, str] = {}
    for look in LOOKS:
        console.visit_every_page(browser, None, look, start="/console/sign-in", folder=folder / str(look))
        asked = console.users.agent_asks(f"{console.origin}/")
        for name, session, more in (
            ("user", console.session_of_user, {"consent": asked}),
            ("operator", console.session, {"answer": _ANSWER, "page": _PAGE}),
        ):
            there = folder / f"{look}-{name}"
            pages, faults = console.visit_every_page(browser, session, look, folder=there, **more)
            print(f"{there}: {len(pages)} pages", *faults, sep="\n")
    return pages


def write_images(browser: Browser, console: SampleConsole) -> None:
    """Takes the pictures of docs/images, in both languages."""
    IMAGES.mkdir(exist_ok=True)
    for language in LANGUAGES:
        for name, address in SHOWN.items():
            path = str(IMAGES / f"console-{name}.{language}.png")
            given = {"origin": console.origin, "session": console.session, "language": language}
            browser.run("picture", **given, address=address, path=path)


def print_weights(weights: dict[str, dict[str, int]]) -> None:
    """Prints what a browser without a cache loads for each page."""
    print(f"{'page':40} {'kB':>6} {'HTML kB':>8} {'requests':>8} {'ms':>6}")
    for name, page in weights.items():
        sizes = f"{page['bytes'] / 1000:6.1f} {page['document'] / 1000:8.1f}"
        print(f"{name:40} {sizes} {page['requests']:8} {page['ms']:6}")


if __name__ == "__main__":
    main(sys.argv[1:])
