"""The canary: measures how long an upload of a page takes until a search finds it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sakuin.errors import SakuinError
from sakuin.knowledge.model import Filters
from sakuin.knowledge.names import OWN_FOLDER
from sakuin.knowledge.postgres import MaterialRecords
from sakuin.platform.s3 import S3Bucket

if TYPE_CHECKING:
    # The function that uploads the page has no Japanese layer.
    from sakuin.knowledge.search import KnowledgeSearches

CANARY_MATERIAL = f"{OWN_FOLDER}canary"
CANARY_KEY = f"{CANARY_MATERIAL}.html"

_LONGEST_WAIT = 75.0
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 2.0
_PAUSE_FACTOR = 1.5


@dataclass(frozen=True, slots=True)
class CanaryResult:
    """Whether the page was indexed and found, and the duration.

    If it was not found, the duration is at least the maximum wait, and there is a `reason`.
    """

    arrived: bool
    found: bool
    milliseconds: float
    reason: str | None = None


# The result of a canary that cannot run.
NOT_RUN = CanaryResult(arrived=False, found=False, milliseconds=_LONGEST_WAIT * 1000, reason="the canary failed")


@dataclass(frozen=True, slots=True)
class Canary:
    """Uploads a page with a new text, waits until it is indexed, searches for the text, and removes the page.

    The page is processed like every page: bucket, queue, function, embedding, transaction. `ask` has the function
    `mcp` do what `ask_for_canary` does. `clock` gives seconds, `new_token` makes a new word.
    """

    bucket: S3Bucket
    records: MaterialRecords
    ask: Callable[[str], str | None]
    prefix: str
    new_token: Callable[[], str]
    clock: Callable[[], float]
    sleep: Callable[[float], None]

    def run(self) -> CanaryResult:
        """Returns the freshness of the index."""
        key, token = self.prefix + CANARY_KEY, self.new_token()
        started = self.clock()
        version = self.bucket.write(key, canary_page(token), content_type="text/html; charset=utf-8")
        try:
            reason = self._wait(key, version, until=started + _LONGEST_WAIT)
            missing = self._ask(token) if reason is None else reason
            seconds = self.clock() - started
            if missing is not None:
                # A page that is rejected at once is not a short duration.
                seconds = max(seconds, _LONGEST_WAIT)
            return CanaryResult(reason is None, missing is None, seconds * 1000, missing)
        finally:
            self.bucket.remove(key)

    def _wait(self, key: str, version: str, *, until: float) -> str | None:
        """Waits until the version is indexed; returns the reason if it is not."""
        pause = _FIRST_PAUSE
        while True:
            for result in self.records.upload_results([(key, version)]):
                return None if result.outcome == "applied" else f"the page is {result.outcome}: {result.reason}"
            if self.clock() >= until:
                return "the page is not indexed"
            self.sleep(pause)
            pause = min(pause * _PAUSE_FACTOR, _LONGEST_PAUSE)

    def _ask(self, token: str) -> str | None:
        try:
            return self.ask(token)
        except SakuinError as error:
            return str(error)


def canary_page(token: str) -> bytes:
    """Returns a page with one explanation of a word that no other page has.

    It names no language: searches would take the library for one of several.
    """
    return (
        f"<!doctype html><html><title>Canary</title><body><div class=rule-box id=rule-canary>"
        f"<h3>The rule of {token}</h3><p>The rule of {token} says that a page is found as soon as it is uploaded.</p>"
        f"</div></body></html>"
    ).encode()


def ask_for_canary(searches: "KnowledgeSearches", token: str) -> str | None:
    """Asks the question that the page answers, as an agent would. Returns why it was not found; None if it was."""
    search = searches.knowledge_search()
    answer = search(f"What does the rule of {token} say?", top_k=1, filters=Filters(material=CANARY_MATERIAL))
    if answer.degraded is not None:
        return answer.degraded
    if not answer.results:
        return "the search found no good match"
    if token not in answer.results[0].title + answer.results[0].excerpt:
        return "the search found an older version"
    return None
