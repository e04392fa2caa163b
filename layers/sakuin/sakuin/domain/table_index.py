"""What an index over Tables was built with."""

import hashlib
import json
from dataclasses import asdict, dataclass

from sakuin.domain.chunking import CHUNKER
from sakuin.domain.recipe import ANALYZER, EmbeddingModel
from sakuin.domain.table_cut import TableCut


@dataclass(frozen=True, slots=True)
class TableFingerprint:
    """Everything that changes its chunks or vectors. Vectors of two fingerprints are never compared."""

    model: EmbeddingModel
    cut: TableCut
    chunker: str = CHUNKER
    analyzer: str = ANALYZER

    @property
    def id(self) -> str:
        """16 hex digits, the same for the same parts everywhere."""
        parts = json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(parts.encode()).hexdigest()[:16]
