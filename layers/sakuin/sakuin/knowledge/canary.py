"""The canary page: its text, the question about it, and the check of the answer.

Searches of agents exclude everything below `OWN_FOLDER` (`search_candidates` and `list_concepts` in the migrations).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sakuin.knowledge.model import Filters

if TYPE_CHECKING:
    # The function that uploads the page has no Japanese layer.
    from sakuin.knowledge.search import KnowledgeSearches

# Below the prefix of the materials' keys; reserved for pages of the product itself.
OWN_FOLDER = "_sakuin/"
CANARY_MATERIAL = f"{OWN_FOLDER}canary"
CANARY_KEY = f"{CANARY_MATERIAL}.html"


@dataclass(frozen=True, slots=True)
class CanaryAnswer:
    """Whether a search found the page, and why not."""

    found: bool
    reason: str | None = None


def canary_page(token: str) -> bytes:
    """Returns a page with one explanation of a word that no other page has."""
    return (
        f"<!doctype html><html lang=en><title>Canary</title><body><div class=rule-box id=rule-canary>"
        f"<h3>The rule of {token}</h3><p>The rule of {token} says that a page is found as soon as it is uploaded.</p>"
        f"</div></body></html>"
    ).encode()


def ask_for_canary(searches: "KnowledgeSearches", token: str) -> CanaryAnswer:
    """Asks the question that the page answers, as an agent would."""
    search = searches.knowledge_search()
    answer = search(f"What does the rule of {token} say?", top_k=1, filters=Filters(material=CANARY_MATERIAL))
    if answer.degraded is not None:
        return CanaryAnswer(False, answer.degraded)
    if not answer.results:
        return CanaryAnswer(False, "the search found no good match")
    if token not in answer.results[0].title + answer.results[0].excerpt:
        return CanaryAnswer(False, "the search found an older version")
    return CanaryAnswer(True)
