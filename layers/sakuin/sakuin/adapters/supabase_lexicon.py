"""What the indexed texts say of words, in Supabase."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from postgrest import SyncPostgrestClient as Client

from sakuin.adapters.supabase_client import call
from sakuin.domain.language.notation import canonical
from sakuin.domain.language.question import KnownWords, Sought
from sakuin.domain.language.synonyms_in_question import synonyms_in


@dataclass(frozen=True, slots=True)
class SupabaseLexicon:
    """A `Lexicon`."""

    client: Client

    def look_up(self, query: str, sought: Sought) -> KnownWords:
        asked = {"p_readings": sorted(sought.readings), "p_words": dict(sought.words), "p_query": canonical(query)}
        found = call(self.client, "look_up_words", asked)
        groups = [tuple(group) for group in found["synonyms"]]
        return KnownWords(_tuples(found["written"]), _tuples(found["near"]), synonyms_in(query, groups))


def _tuples(lists: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {word: tuple(forms) for word, forms in lists.items()}
