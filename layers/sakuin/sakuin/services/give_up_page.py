"""What failed for the last time is said on the page that it was about; what was searchable before stays so."""

from dataclasses import dataclass

from sakuin.domain.material import material_of_key
from sakuin.domain.work import About
from sakuin.ports.materials import KnowledgeIndex


@dataclass(frozen=True, slots=True)
class GiveUpPage:
    """Says it on the material, and to whoever waits for the version."""

    index: KnowledgeIndex
    prefix: str

    def __call__(self, about: About, reason: str) -> None:
        """A version that a newer one has overtaken changes nothing. What no upload caused is told by its row alone."""
        source = about.source
        if source is None:
            return
        said = f"{reason}. Its message is a dead letter: `sakuin redrive` shows it and sends it again."
        material = material_of_key(source.key, prefix=self.prefix)
        if material is None:
            self.index.leave_receipt(source, "failed", said)
        elif self.index.fail(material, source, said).outcome == "superseded":
            # Nobody else tells whoever waits for it.
            self.index.leave_receipt(source, "superseded", said)
