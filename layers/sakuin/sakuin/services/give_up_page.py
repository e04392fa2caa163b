"""Records on a page that its message becomes a dead letter; what was searchable before stays so."""

from dataclasses import dataclass

from sakuin.domain.material import material_of_key
from sakuin.domain.material_version import Source
from sakuin.ports.materials import KnowledgeIndex, MaterialBucket
from sakuin.services.follow_bucket import BucketEvent, RecheckKey, ReindexMaterial


@dataclass(frozen=True, slots=True)
class GiveUpPage:
    """Records it on the material, and for whoever waits for the version."""

    index: KnowledgeIndex
    prefix: str
    bucket: MaterialBucket

    def __call__(self, event: BucketEvent, reason: str) -> None:
        """A version that a newer one has overtaken changes nothing. A reindex has no version to blame."""
        if isinstance(event, ReindexMaterial):
            return
        said = f"{reason}. Its message is a dead letter: `sakuin redrive` shows it and sends it again."
        if isinstance(event, RecheckKey):
            self._fail_present(event.key, said)
            return
        source = event.source
        material = material_of_key(source.key, prefix=self.prefix)
        if material is None:
            self.index.leave_receipt(source, "failed", said)
        elif self.index.fail(material, source, said).outcome == "superseded":
            # Nobody else tells whoever waits for it.
            self.index.leave_receipt(source, "superseded", said)

    def _fail_present(self, key: str, said: str) -> None:
        """Records it for the version that the bucket holds, unless the index knows that version already."""
        material = material_of_key(key, prefix=self.prefix)
        if material is None:
            return
        # The row first: a newer change finds it changed, and is left as it is.
        state = self.index.state(material)
        held = next((one for one in self.bucket.held(key, limit=1).items if one.key == key), None)
        if held is None or held.version_id is None or (state and state.source.version_id == held.version_id):
            return
        source = Source(self.bucket.name, key, held.version_id, "")
        self.index.fail(material, source, said, expected_generation=state.generation if state else None, current=True)
