"""How a function starts: what is loaded then, and what waits for its first use."""

import gc
from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def unswept(build: Callable[P, T]) -> Callable[P, T]:
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
