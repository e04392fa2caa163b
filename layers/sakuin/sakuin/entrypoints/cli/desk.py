"""The use cases behind the commands."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `sakuin --help` loads none of them
    from sakuin.services.ask_as_agent import AskAsAgent
    from sakuin.services.check_pages import CheckPages
    from sakuin.services.evaluate import Evaluate
    from sakuin.services.explain_from_afar import ExplainFromAfar
    from sakuin.services.indexes_from_afar import IndexesFromAfar
    from sakuin.services.keep_keys import KeepKeys
    from sakuin.services.look_at_library import LookAtLibrary
    from sakuin.services.projects_from_afar import ProjectsFromAfar
    from sakuin.services.push_pages import PushPages
    from sakuin.services.reconcile_from_afar import ReconcileFromAfar
    from sakuin.services.redrive import Redrive
    from sakuin.services.remove_pages import RemovePages


@dataclass(frozen=True, slots=True)
class Desk:
    """Each gives its use case, or raises `Misconfigured` when a setting that it needs is missing."""

    ask: Callable[[], "AskAsAgent"]
    ask_tools: Callable[[], "AskAsAgent"]
    push: Callable[[], "PushPages"]
    remove: Callable[[], "RemovePages"]
    check: Callable[[], "CheckPages"]
    look: Callable[[], "LookAtLibrary"]
    projects: Callable[[], "ProjectsFromAfar"]
    explain: Callable[[], "ExplainFromAfar"]
    evaluate: Callable[[], "Evaluate"]
    keys: Callable[[], "KeepKeys"]
    indexes: Callable[[], "IndexesFromAfar"]
    redrive: Callable[[], "Redrive"]
    reconcile: Callable[[], "ReconcileFromAfar"]
