"""When a change of a material may be made: by its sequencer, or because the bucket holds that version now."""

from dataclasses import replace

from sakuin.errors import Conflict
from sakuin.knowledge.model import ChangeResult, MaterialState, PageChange, Source
from sakuin.knowledge.postgres import KnowledgeIndex
from sakuin.platform.s3 import Bucket

_ATTEMPTS = 5


def apply_if_current(
    index: KnowledgeIndex, bucket: Bucket, change: PageChange, *, since: int | None = None
) -> ChangeResult:
    """Makes a change. One that its sequencer rejects is made if its version is the bucket's current one.

    Sequencers begin again with another bucket, and a version that was found by listing has none. `since` is the row's
    generation when its version was read.
    """
    source = change.source
    if source is None:
        return index.apply(change, expected_generation=since)
    applied = index.apply(change, expected_generation=since) if source.sequencer else ChangeResult("superseded", 0)
    if applied.outcome != "superseded":
        return applied
    for _ in range(_ATTEMPTS):
        # The row first: what changes after the bucket was asked is a conflict, and compared again.
        state = index.state(change.material)
        version = bucket.current_version(source.key)
        if not _is_current(change, source, version) or _is_indexed(source, version, state):
            index.record_upload_result(source, "superseded")
            return replace(applied, outcome="superseded")
        applied = index.apply(change, expected_generation=state.generation if state else None, current=True)
        if applied.outcome != "conflict":
            return applied
    raise Conflict(f"Others changed {change.material} {_ATTEMPTS} times while it was compared with the bucket")


def _is_current(change: PageChange, source: Source, version: str | None) -> bool:
    if change.deleted:
        return version is None
    return version is not None and source.version_id in (None, version)


def _is_indexed(source: Source, version: str | None, state: MaterialState | None) -> bool:
    """Whether the row already says what the bucket holds: only then is the event as late as it seems."""
    if state is None or state.source.key != source.key:
        return state is None and version is None
    if version is None:
        return state.status == "deleted"
    return state.status != "deleted" and state.source.version_id == version
