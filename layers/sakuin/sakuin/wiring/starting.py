"""A fast start of a function, and its restore from a snapshot."""

import gc
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from aws_lambda_powertools.utilities import parameters

from sakuin.platform.aws import Handler, session

P = ParamSpec("P")
T = TypeVar("T")
# Registers a function that is called when a snapshot becomes a worker.
Register = Callable[[Callable[[], None]], object]


def without_gc(build: Callable[P, T]) -> Callable[P, T]:
    """Returns `build` without garbage collection.

    Imports make objects that stay. To check them again and again takes a sixth of a start. Frozen objects are not
    checked later either.
    """

    @wraps(build)
    def build_without_gc(*args: P.args, **kwargs: P.kwargs) -> T:
        gc.disable()
        try:
            return build(*args, **kwargs)
        finally:
            gc.freeze()
            gc.enable()

    return build_without_gc


def starts_ahead(environ: Mapping[str, str]) -> bool:
    """Returns whether no request waits for this start: for a snapshot or provisioned concurrency."""
    return environ.get("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand") != "on-demand"


def restorable(build: Callable[[], Handler], register: Register | None = None) -> Handler:
    """Returns the handler of `build`, which is built again after each restore.

    A snapshot may be weeks old: its connections are closed, its keys may be rotated, and all workers would share its
    random values.
    """
    build = without_gc(build)
    handlers = [build()]

    def rebuild() -> None:
        session.cache_clear()
        parameters.clear_caches()  # type: ignore[no-untyped-call]  # Powertools has no annotation
        # The handler of the snapshot stays referenced, because its event loop has a task that never ends.
        handlers.append(build())

    (register or _register_with_lambda)(rebuild)

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        return handlers[-1](event, context)

    return handler


def _register_with_lambda(rebuild: Callable[[], None]) -> None:
    try:
        hooks = import_module("snapshot_restore_py")
    except ModuleNotFoundError:
        # Lambda's runtime has this module. Without it nothing is restored.
        return
    hooks.register_after_restore(rebuild)
