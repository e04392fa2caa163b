"""The event loop of the applications here."""

from tests.one_portal import one_portal

__all__ = ["one_portal"]
