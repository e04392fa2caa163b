"""The use cases behind the commands."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `sakuin --help` loads none of them
    from sakuin_cli.ask_as_agent import AskAsAgent
    from sakuin_cli.check_pages import CheckPages
    from sakuin_cli.deployment_keys import KeepKeys
    from sakuin_cli.evaluation.evaluate import Evaluate
    from sakuin_cli.explain_from_afar import ExplainFromAfar
    from sakuin_cli.indexes_from_afar import IndexesFromAfar
    from sakuin_cli.look_at_library import LookAtLibrary
    from sakuin_cli.projects_from_afar import ProjectsFromAfar
    from sakuin_cli.push_pages import PushPages
    from sakuin_cli.reconcile_from_afar import ReconcileFromAfar
    from sakuin_cli.redrive import Redrive
    from sakuin_cli.remove_pages import RemovePages


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
