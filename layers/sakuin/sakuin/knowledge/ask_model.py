"""The messages that ask a language model for the `learns` of a page that is searchable already."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from sakuin.errors import NotFound, OutOfTime, OverBudget, Refused, SakuinError, Unavailable, UnreadablePage
from sakuin.knowledge.index_page import IndexPage, PageVersion
from sakuin.knowledge.learns.instructions import Section
from sakuin.knowledge.learns.sources import LearnsSources
from sakuin.knowledge.messages import MaterialQueue
from sakuin.knowledge.model import EventResult
from sakuin.knowledge.postgres import Group, LearnsRecords
from sakuin.knowledge.reading.page_reader import read_page

_LEAST_PAUSE_SECONDS = 60.0
_DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class AskModel:
    """Asks about one group of a page's texts, then sends a message for the next group, or indexes the page again.

    The work is a row of `pending_learns`, so a message needs no retry: after an error, or the death of a worker, the
    row becomes due again.
    """

    sources: LearnsSources
    records: LearnsRecords
    pages: IndexPage
    queue: MaterialQueue

    def __call__(self, material: str) -> EventResult:
        """Returns the result of the page if it was indexed again."""
        try:
            state = self.pages.index.state(material)
            if state is None or state.indexed_version_id is None:
                return EventResult(material, reason="the material is not indexed")
            try:
                return self._ask(material, state.source.key, state.indexed_version_id)
            except (NotFound, UnreadablePage) as error:
                self.records.drop(material, generation=state.generation)
                return EventResult(material, reason=f"the indexed version can no longer be read: {error}")
        except SakuinError as error:
            return EventResult(material, reason=f"its learns are asked for again later: {error}")

    def _ask(self, material: str, key: str, version: str) -> EventResult:
        stored = self.pages.bucket.read(key, version_id=version, max_bytes=self.pages.max_page_bytes)
        page = read_page(stored.body, most_explanations=self.pages.most_explanations)
        texts = self.sources.texts(key, material, page)
        group = self.records.begin(material, list(texts))
        if group is None:
            return EventResult(material, reason="no explanation of the page waits for a language model")
        failure = self._answer(material, group, texts)
        if isinstance(failure, SakuinError) and not _was_made(failure):
            return EventResult(material, reason=f"the language model was not asked: {failure}")
        if group.more:
            if failure is None:
                self.queue.ask_learns([material])
            else:
                # The next group waits for maintenance: a vendor that fails gets a few calls a minute.
                self.records.release(material)
            return EventResult(material, reason=str(failure or "its next explanations follow"))
        result = self.pages(PageVersion(material, key, version))
        self.records.release(material)
        if failure is None:
            self.records.send_due(self.queue.ask_learns)
        return result

    def _answer(self, material: str, group: Group, texts: Mapping[str, Section]) -> SakuinError | None:
        """Asks about the group and stores the answers; returns the failure of the call."""
        if not group.keys or self.sources.model is None:
            return None
        try:
            learns = self.sources.model.learns([texts[key] for key in group.keys])
        except (Unavailable, OverBudget, OutOfTime) as error:
            if not _was_made(error):
                self.records.release(material, not_asked=group.keys, seconds=_pause(error))
            return error
        self.records.store({key: learns[texts[key].anchor] for key in group.keys if texts[key].anchor in learns})
        return None


def _was_made(error: SakuinError) -> bool:
    """Returns whether a call was made and may be paid for. A vendor that refuses it, or asks to wait, did no work."""
    return isinstance(error, Unavailable) and not isinstance(error, Refused) and error.retry_after is None


def _pause(error: SakuinError) -> float:
    """Returns the seconds until the page is due again: until midnight for the budget of the day."""
    seconds = _DAY_SECONDS - time.time() % _DAY_SECONDS if isinstance(error, OverBudget) else 0.0
    requested = error.retry_after if isinstance(error, Unavailable) else None
    return max(seconds, min(requested or 0.0, _DAY_SECONDS), _LEAST_PAUSE_SECONDS)
