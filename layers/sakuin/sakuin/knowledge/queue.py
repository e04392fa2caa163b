"""Messages to the function that indexes materials."""

from collections.abc import Collection
from dataclasses import dataclass

from sakuin.platform.sqs import SqsQueue
from sakuin.platform.unfinished_work import WorkSubject


@dataclass(frozen=True, slots=True)
class MaterialQueue:
    """Asks for work on materials. At least once; asking for nothing is not an error."""

    queue: SqsQueue

    def reindex(self, materials: Collection[str], *, reason: str, attempt: int = 1, delay_seconds: int = 0) -> None:
        """Asks to read each material and index it again."""
        asked = [{"material": material, "reason": reason, "attempt": attempt} for material in sorted(materials)]
        self.queue.send([{"reindex": each} for each in asked], delay_seconds=delay_seconds)

    def recheck(self, keys: Collection[str], *, reason: str) -> None:
        """Asks to bring the index in line with what the bucket holds under each key now."""
        self.queue.send([{"recheck": {"key": key, "reason": reason}} for key in sorted(keys)])

    def resume(self, subject: WorkSubject) -> None:
        """Asks for work that waited: on a material, or on a file by its newest known event."""
        if subject.kind == "material":
            self.queue.send([{"reindex": {"material": subject.id, "reason": "resumed", "resumed": True}}])
            return
        event = {"version_id": subject.version_id, "sequencer": subject.sequencer, "removed": subject.removed}
        self.queue.send([{"recheck": {"key": subject.id, "reason": "resumed", "resumed": True, **event}}])
