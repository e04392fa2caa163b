"""The entries of the console's menu."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: the path below `/console`, the key of its text, and whether only admins or only users see it."""

    path: str
    text: str
    admins_only: bool = False
    users_only: bool = False


ENTRIES = (
    Entry("/", "overview.title"),
    Entry("/playground", "playground.title"),
    Entry("/refused", "refused.title"),
    Entry("/projects", "projects.title"),
    Entry("/agents", "consent.title", users_only=True),
    Entry("/pages", "pages.title", admins_only=True),
    Entry("/learns", "learns.title", admins_only=True),
    Entry("/findings", "findings.title", admins_only=True),
    Entry("/work", "work.title", admins_only=True),
    Entry("/dead-letters", "dead_letters.title", admins_only=True),
    Entry("/freshness", "freshness.title", admins_only=True),
    Entry("/keys", "keys.title", admins_only=True),
    Entry("/doctor", "doctor.title", admins_only=True),
)
