"""How long an upload takes until a search finds it, measured with a page of our own."""

from collections.abc import Callable
from dataclasses import dataclass

from sakuin.errors import SakuinError
from sakuin.knowledge.canary import CANARY_KEY, CanaryAnswer, canary_page
from sakuin.knowledge.postgres_records import MaterialRecords
from sakuin.platform.s3 import Bucket

_LONGEST_WAIT = 75.0
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 2.0
_SLOWER = 1.5


@dataclass(frozen=True, slots=True)
class CanaryResult:
    """Whether the page was indexed and found, and how long that took.

    One that was not found took at least as long as the canary waits; `reason` says why.
    """

    arrived: bool
    found: bool
    milliseconds: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Canary:
    """Uploads a page with a new text, waits until it is indexed, asks what it says, and removes it.

    The page goes the way of every page: bucket, queue, function, embedding, transaction. `ask` sends the question to
    the function that answers agents. `clock` gives seconds, `sleep` waits so many, `new_token` makes a new word.
    """

    bucket: Bucket
    records: MaterialRecords
    ask: Callable[[str], CanaryAnswer]
    prefix: str
    new_token: Callable[[], str]
    clock: Callable[[], float]
    sleep: Callable[[float], None]

    def run(self) -> CanaryResult:
        """Returns how fresh the index is now."""
        key, token = self.prefix + CANARY_KEY, self.new_token()
        started = self.clock()
        version = self.bucket.write(key, canary_page(token), content_type="text/html; charset=utf-8")
        try:
            reason = self._wait(key, version, until=started + _LONGEST_WAIT)
            answer = self._ask(token) if reason is None else CanaryAnswer(False, reason)
            seconds = self.clock() - started
            if not answer.found:
                # A page that is refused at once is not a fresh one.
                seconds = max(seconds, _LONGEST_WAIT)
            return CanaryResult(reason is None, answer.found, seconds * 1000, answer.reason)
        finally:
            self.bucket.remove(key)

    def _wait(self, key: str, version: str, *, until: float) -> str | None:
        """Waits until the version is indexed; returns why it is not."""
        pause = _FIRST_PAUSE
        while True:
            receipts = self.records.upload_results([(key, version)])
            if receipts:
                receipt = receipts[0]
                return None if receipt.outcome == "applied" else f"the page is {receipt.outcome}: {receipt.reason}"
            if self.clock() >= until:
                return "the page is not indexed"
            self.sleep(pause)
            pause = min(pause * _SLOWER, _LONGEST_PAUSE)

    def _ask(self, token: str) -> CanaryAnswer:
        try:
            return self.ask(token)
        except SakuinError as error:
            return CanaryAnswer(False, str(error))
