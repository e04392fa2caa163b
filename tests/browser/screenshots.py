"""The pictures of docs/images: `scripts/screenshots` renews them."""

import logging
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
from tests.browser.sample_console import SampleConsole, sample_console
from tests.clients.node import ROOT
from tests.worlds import World, world_of

IMAGES = ROOT / "docs" / "images"
# What README and docs show.
SHOWN = {"overview": "/console/", "playground": "/console/playground?q={question}"}
QUESTIONS = {"ja": "解の公式", "en": "How do I restore a single file?"}


def main() -> None:
    logging.disable(logging.CRITICAL)
    with started_browser() as browser:
        for language in LANGUAGES:
            with sampled_console(language) as console:
                write_images(browser, console, language)


@contextmanager
def sampled_console(language: str) -> Iterator[SampleConsole]:
    """Serves the console over a database of its own, with the samples of a language."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_database(Path(folder)) as database,
        psycopg.connect(database.dsn_postgres, autocommit=True) as sql,
        served(application(Store(Path(folder) / "turbopuffer.sqlite"))) as port,
        sample_console(
            World(database, connected(database.rest_url, database.service_key), sql),
            world_of(database, f"http://127.0.0.1:{port}"),
            is_hostile=False,
            language=language,
        ) as console,
    ):
        yield console


def write_images(browser: Browser, console: SampleConsole, language: str) -> None:
    """Takes the pictures of docs/images in a language."""
    for name, address in SHOWN.items():
        path = str(IMAGES / f"console-{name}.{language}.png")
        given = {"origin": console.origin, "session": console.session, "language": language}
        browser.run("picture", **given, address=address.format(question=QUESTIONS[language]), path=path)


if __name__ == "__main__":
    main()
