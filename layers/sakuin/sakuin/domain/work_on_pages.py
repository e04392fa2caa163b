"""What is already being done about pages that differ from the bucket, so that nobody asks for it twice."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sakuin.domain.material import material_of_key
from sakuin.domain.reconciliation import Difference, HeldObject
from sakuin.domain.work import WorkState

AT_WORK = "nothing more: its work goes on, or waits"
BURIED = "nothing by itself: a dead letter has it, see `sakuin redrive`"


@dataclass(frozen=True, slots=True)
class WorkOnPage:
    """A row of work about a page, or about a file beside the pages; `subject` is its material, or its key.

    It speaks of a version of `key` (None: the removal of one without versions); `looks`: of whatever the key holds when
    somebody looks, which nobody did before `sent_at`. No `key`: of what is indexed already.
    """

    subject: str
    state: WorkState
    sent_at: datetime
    key: str | None = None
    version_id: str | None = None
    looks: bool = False


def left_to_work(
    found: Sequence[Difference], held: Sequence[HeldObject], works: Sequence[WorkOnPage], *, prefix: str
) -> list[Difference]:
    """The same; what has work that waits, is done now, or died of just this, is left to that work."""
    there = {one.key: one for one in held}
    of_subject: dict[str, list[WorkOnPage]] = {}
    for work in works:
        of_subject.setdefault(work.subject, []).append(work)
    left = []
    for one in found:
        about = of_subject.get(subject_of_key(one.where, prefix), ())
        if any(_is_at(work, one) for work in about):
            left.append(replace(one, repair=AT_WORK))
        elif any(work.state == "dead" and _died_of(work, one, there.get(one.where)) for work in about):
            left.append(replace(one, repair=BURIED))
        else:
            left.append(one)
    return left


def subject_of_key(key: str, prefix: str) -> str:
    """What work on a key is about: its material, or the key itself where it is no page's."""
    return material_of_key(key, prefix=prefix) or key


def _is_at(work: WorkOnPage, found: Difference) -> bool:
    # A page that is gone needs no vendor: it need not wait for what does.
    return work.state in ("in_hand", "waiting") or (work.state == "parked" and found.rule != "gone")


def _died_of(work: WorkOnPage, found: Difference, held: HeldObject | None) -> bool:
    """Whether a dead letter is about what the bucket holds: a newer version is another matter."""
    if work.key != found.where:
        return False
    if work.looks:
        return held is None or held.modified <= work.sent_at
    return work.version_id == (held.version_id if held else None)
