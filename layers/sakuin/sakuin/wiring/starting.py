"""How a function starts soon, and goes on after its snapshot."""

import gc
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from aws_lambda_powertools.utilities import parameters

P = ParamSpec("P")

T = TypeVar("T")


def without_gc(build: Callable[P, T]) -> Callable[P, T]:
    """The same function, during which the garbage collector rests.

    Importing makes objects that stay: looking through all of them again and again takes a sixth of a start. Once
    frozen they are not looked through later either.
    """

    @wraps(build)
    def built(*args: P.args, **kwargs: P.kwargs) -> T:
        gc.disable()
        try:
            return build(*args, **kwargs)
        finally:
            gc.freeze()
            gc.enable()

    return built


def starts_ahead(environ: Mapping[str, str]) -> bool:
    """Whether nobody waits for this start: it ends in a snapshot, or in a worker that is kept ready."""
    return environ.get("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand") != "on-demand"


Handler = Callable[[dict[str, Any], Any], dict[str, Any]]

# Has a function called when a snapshot becomes a worker.
Register = Callable[[Callable[[], None]], object]


def restorable(build: Callable[[], Handler], register: Register | None = None) -> Handler:
    """The handler that `build` makes; it is made again, out of what was loaded already, after each restore.

    What is in a snapshot may be weeks old when it wakes: its connections are gone, its keys may be rotated, and
    every worker would have the same.
    """
    made = [build()]

    def renew() -> None:
        parameters.clear_caches()  # type: ignore[no-untyped-call]  # Powertools forgot its annotation
        # The one of the snapshot stays referenced: its event loop still holds a task, and is never run again.
        made.append(build())

    (register or _registered_with_lambda)(renew)

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        return made[-1](event, context)

    return handler


def _registered_with_lambda(renew: Callable[[], None]) -> None:
    try:
        hooks = import_module("snapshot_restore_py")
    except ModuleNotFoundError:
        # Lambda's runtime brings it; where there is none, nothing is ever restored.
        return
    hooks.register_after_restore(renew)
