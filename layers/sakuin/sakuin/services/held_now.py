"""What a version's sequencer forbids, and the bucket holds now, happens all the same."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sakuin.domain.material_version import Applied, MaterialState, Source
from sakuin.errors import Conflict
from sakuin.ports.materials import KnowledgeIndex, MaterialBucket

_ATTEMPTS = 5
# Makes a change for the row's generation; True: the bucket was seen to hold it now.
Change = Callable[[int | None, bool], Applied]


@dataclass(frozen=True, slots=True)
class HeldNow:
    """Asks the bucket where sequencers say no: they began anew, or a version came without one."""

    index: KnowledgeIndex
    bucket: MaterialBucket

    def __call__(
        self, material: str, source: Source, change: Change, *, gone: bool = False, since: int | None = None
    ) -> Applied:
        """Makes a change by its sequencer, and if that is refused, or empty, by what the bucket holds.

        `gone`: the change is a deletion. `since`: the row's generation when its version was read.
        """
        applied = change(since, False) if source.sequencer else Applied("superseded", 0)
        if applied.outcome != "superseded":
            return applied
        for _ in range(_ATTEMPTS):
            # The row first: what changes after the look into the bucket is a conflict, and looked at again.
            state = self.index.state(material)
            held = self.bucket.current_version(source.key)
            if not _holds(source, held, gone=gone) or _is_known(source, held, state):
                self.index.leave_receipt(source, "superseded")
                return replace(applied, outcome="superseded")
            applied = change(state.generation if state else None, True)
            if applied.outcome != "conflict":
                return applied
        raise Conflict(f"{material} was changed by others {_ATTEMPTS} times while the bucket was looked at")


def _holds(source: Source, held: str | None, *, gone: bool) -> bool:
    return held is None if gone else held is not None and source.version_id in (None, held)


def _is_known(source: Source, held: str | None, state: MaterialState | None) -> bool:
    """Whether the row says already what the bucket holds: only then is the event as late as it looks."""
    if state is None or state.source.key != source.key:
        return state is None and held is None
    return state.status == "deleted" if held is None else state.status != "deleted" and state.source.version_id == held
