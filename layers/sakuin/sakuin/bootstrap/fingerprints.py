"""What the deployed settings make of pages and of Tables."""

from typing import TYPE_CHECKING

from sakuin.domain.recipe import ANALYZER, RECIPE, Fingerprint
from sakuin.settings import Settings

if TYPE_CHECKING:
    from sakuin.domain.table_index import TableFingerprint


def page_fingerprint(settings: Settings) -> Fingerprint:
    """What the settings, and this code, embed pages as."""
    return Fingerprint(settings.embedding_model, RECIPE, ANALYZER)


def table_fingerprint(settings: Settings) -> "TableFingerprint":
    """What the settings embed Tables as."""
    from sakuin.domain.table_index import TableFingerprint

    return TableFingerprint(settings.embedding_model, settings.table_cut)
