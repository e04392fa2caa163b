"""Erasing the dead letters and records of a customer: a folder of the library, a project, or both."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sakuin.platform.supabase.client import Client, call
from sakuin.upkeep.queues import Queues

# A statement has eight seconds, and a page may have two thousand explanations.
_PAGES_A_CALL = 5
# API Gateway ends a request after 30 seconds.
_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class ErasedRecords:
    """How many records of each kind were erased, or would be, and how many pages and projects are `left`."""

    erased: Mapping[str, int]
    left: int


@dataclass(frozen=True, slots=True)
class EraseRecords:
    """Erases dead letters, and records in Postgres in portions. `prefix` is that of the library's keys."""

    client: Client
    queues: Queues
    prefix: str
    clock: Callable[[], float]

    def __call__(self, folder: str | None, project_id: str | None, *, dry_run: bool) -> ErasedRecords:
        """Erases, or with `dry_run` counts, what is recorded. Needs another call while anything is left.

        The bucket must have no version of the folder, and the project must be deleted. Maintenance deletes its rows.
        """
        until, erased = self.clock() + _SECONDS, Counter[str]()
        of_folder = (f"{self.prefix}{folder}/", f"{folder}/") if folder else ()
        of_project = (project_id, f"tables/{project_id}/") if project_id else ()
        texts = [f'"{beginning}' for beginning in (*of_folder, *of_project)]
        erased["dead letters"] = self.queues.erase(texts, dry_run=dry_run)
        arguments = {"p_folder": folder, "p_prefix": self.prefix, "p_project": project_id}
        while True:
            portion = call(self.client, "erase_records", {**arguments, "p_limit": _PAGES_A_CALL, "p_dry_run": dry_run})
            erased.update(portion["erased"])
            if not portion["left"] or not portion["erased"]["pages"] or self.clock() > until:
                return ErasedRecords(erased, portion["left"])
