"""What a prediction keeps on disk: vectors by model and text, and read pages."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from sakuin.errors import Misconfigured

from sakuin_cli.portions import portions

Kind = Literal["vector", "page", "settings"]
# SQLite takes 999 arguments in a statement.
_A_STATEMENT = 500


class Cache:
    """One SQLite file. Each kind of content has names of its own."""

    def __init__(self, file: Path) -> None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(file, isolation_level=None)
            self._connection.execute("pragma synchronous = off")
            self._connection.execute(
                "create table if not exists content (kind text, name text, value blob, primary key (kind, name)) "
                "without rowid"
            )
        except (OSError, sqlite3.Error) as error:
            raise Misconfigured(
                f"{file} is no cache of `sakuin check`: delete it, or name another ({error})"
            ) from error

    def values(self, kind: Kind, names: Collection[str]) -> dict[str, bytes]:
        """Returns the stored values by name; what is not stored is left out."""
        found: dict[str, bytes] = {}
        for some in portions(sorted(names), _A_STATEMENT):
            places = ",".join("?" * len(some))
            query = f"select name, value from content where kind = ? and name in ({places})"  # noqa: S608 - of "?"
            with closing(self._connection.execute(query, (kind, *some))) as rows:
                found |= dict(rows)
        return found

    def store(self, kind: Kind, values: Mapping[str, bytes]) -> None:
        """Stores values; one that is there is replaced."""
        if not values:
            return
        rows: Iterable[tuple[str, str, bytes]] = ((kind, name, value) for name, value in values.items())
        self._connection.execute("begin")
        self._connection.executemany("insert or replace into content values (?, ?, ?)", rows)
        self._connection.execute("commit")

    def settings(self) -> Mapping[str, Any] | None:
        """Returns the settings of the index version of the last prediction; None before the first."""
        stored = self.values("settings", ["live"]).get("live")
        settings: Mapping[str, Any] | None = json.loads(stored) if stored else None
        return settings

    def store_settings(self, settings: Mapping[str, Any]) -> None:
        """Stores the settings of the live index version."""
        self.store("settings", {"live": json.dumps(settings).encode()})
