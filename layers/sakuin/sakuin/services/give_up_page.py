"""What failed for the last time is said on the page that it was about; what was searchable before stays so."""

from dataclasses import dataclass

from sakuin.domain.material import material_of_key
from sakuin.domain.material_version import Source
from sakuin.domain.work import About
from sakuin.ports.materials import KnowledgeIndex, MaterialBucket


@dataclass(frozen=True, slots=True)
class GiveUpPage:
    """Says it on the material, and to whoever waits for the version."""

    index: KnowledgeIndex
    prefix: str
    bucket: MaterialBucket

    def __call__(self, about: About, reason: str) -> None:
        """A version that a newer one has overtaken changes nothing. What no upload caused is told by its row alone."""
        source = about.source
        if source is None:
            return
        said = f"{reason}. Its message is a dead letter: `sakuin redrive` shows it and sends it again."
        material = material_of_key(source.key, prefix=self.prefix)
        if not source.sequencer:
            self._as_it_is(material, source.key, said)
        elif material is None:
            self.index.leave_receipt(source, "failed", said)
        elif self.index.fail(material, source, said).outcome == "superseded":
            # Nobody else tells whoever waits for it.
            self.index.leave_receipt(source, "superseded", said)

    def _as_it_is(self, material: str | None, key: str, said: str) -> None:
        """Says it of the version that the bucket holds, unless the index knows it already."""
        if material is None:
            return
        # The row first: who is newer than this look finds it changed, and is left as he is.
        state = self.index.state(material)
        held = next((one for one in self.bucket.held(key, limit=1).items if one.key == key), None)
        if held is None or held.version_id is None or (state and state.source.version_id == held.version_id):
            return
        source = Source(self.bucket.name, key, held.version_id, "")
        self.index.fail(material, source, said, expected_generation=state.generation if state else None, current=True)
