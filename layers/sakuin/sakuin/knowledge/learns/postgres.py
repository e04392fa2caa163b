"""The functions in Postgres about `learns` of a language model: its answers, and the pages that wait for them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sakuin.knowledge.messages import MaterialQueue
from sakuin.platform.supabase.client import Client, call

Items = tuple[str, ...]

# Pages that are worked on at once. The other workers of the queue are free for changed pages.
PAGES_AT_ONCE = 2
# Longer than one model call plus indexing. After that the message counts as lost.
_CLAIM_SECONDS = 180


@dataclass(frozen=True, slots=True)
class Group:
    """The texts to ask a language model about, by key, and whether more of the page are due."""

    keys: Sequence[str]
    more: bool


@dataclass(frozen=True, slots=True)
class LearnsRecords:
    """Answers of a language model by the key of their text, and pages with provisional `learns`."""

    client: Client

    def answers(self, keys: Collection[str]) -> Mapping[str, Items]:
        """Returns the known answers; empty ones too, also for texts whose calls are used up."""
        found = call(self.client, "cached_learns", {"p_keys": sorted(keys)}) if keys else {}
        return {key: tuple(items) for key, items in found.items()}

    def store(self, answers: Mapping[str, Items]) -> None:
        """Stores answers. Idempotent."""
        call(self.client, "store_learns", {"p_learns": {key: list(items) for key, items in answers.items()}})

    def claim(self) -> Sequence[str]:
        """Claims pages that are due, so that at most `PAGES_AT_ONCE` are worked on."""
        return list(call(self.client, "claim_learns", {"p_slots": PAGES_AT_ONCE, "p_seconds": _CLAIM_SECONDS}))

    def begin(self, material: str, keys: Sequence[str]) -> Group | None:
        """Records a call about up to six texts of a page that have no answer; None if the page does not wait.

        `keys` are those of all its texts. A repeated or concurrent call gets other texts, or none.
        """
        arguments = {"p_material": material, "p_keys": list(keys), "p_seconds": _CLAIM_SECONDS}
        found = call(self.client, "begin_learns", arguments)
        return Group(tuple(found["ask"]), found["more"]) if found else None

    def release(self, material: str, *, not_asked: Collection[str] = (), seconds: float = 0) -> None:
        """Ends the work on a page, until its texts are due or, if given, for `seconds`.

        `not_asked` are texts whose recorded call was not made.
        """
        arguments = {"p_material": material, "p_not_asked": sorted(not_asked), "p_seconds": round(seconds)}
        call(self.client, "release_learns", arguments)

    def drop(self, material: str, *, generation: int) -> None:
        """Ends the work on a page for good, unless it has changed since `generation`: its next version begins again."""
        call(self.client, "drop_learns", {"p_material": material, "p_generation": generation})


@dataclass(frozen=True, slots=True)
class SendPendingLearns:
    """Sends messages for pages whose `learns` are due, as many as may be worked on at once."""

    records: LearnsRecords
    queue: MaterialQueue

    def __call__(self) -> int:
        """Returns the number of messages. A message that is lost is sent again when its claim ends."""
        materials = self.records.claim()
        self.queue.ask_learns(materials)
        return len(materials)
