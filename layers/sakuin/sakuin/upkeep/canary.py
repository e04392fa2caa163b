"""The canary: measures how long an upload takes until a search finds it."""

from collections.abc import Callable
from dataclasses import dataclass

from sakuin.errors import SakuinError
from sakuin.knowledge.canary import CANARY_KEY, CanaryAnswer, canary_page
from sakuin.knowledge.postgres import MaterialRecords
from sakuin.platform.s3 import S3Bucket

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

    The page is processed like every page: bucket, queue, function, embedding, transaction. `ask` sends the question to
    the function `mcp`. `clock` gives seconds, `new_token` makes a new word.
    """

    bucket: S3Bucket
    records: MaterialRecords
    ask: Callable[[str], CanaryAnswer]
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
            answer = self._ask(token) if reason is None else CanaryAnswer(False, reason)
            seconds = self.clock() - started
            if not answer.found:
                # A page that is rejected at once is not a short duration.
                seconds = max(seconds, _LONGEST_WAIT)
            return CanaryResult(reason is None, answer.found, seconds * 1000, answer.reason)
        finally:
            self.bucket.remove(key)

    def _wait(self, key: str, version: str, *, until: float) -> str | None:
        """Waits until the version is indexed; returns the reason if it is not."""
        pause = _FIRST_PAUSE
        while True:
            receipts = self.records.upload_results([(key, version)])
            if receipts:
                receipt = receipts[0]
                return None if receipt.outcome == "applied" else f"the page is {receipt.outcome}: {receipt.reason}"
            if self.clock() >= until:
                return "the page is not indexed"
            self.sleep(pause)
            pause = min(pause * _PAUSE_FACTOR, _LONGEST_PAUSE)

    def _ask(self, token: str) -> CanaryAnswer:
        try:
            return self.ask(token)
        except SakuinError as error:
            return CanaryAnswer(False, str(error))
