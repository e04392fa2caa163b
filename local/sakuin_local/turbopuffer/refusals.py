"""What turbopuffer answers instead of doing it."""


class Refused(Exception):
    """A request that turbopuffer would refuse too, or that this stand-in does not know."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def missing(namespace: str) -> Refused:
    """The answer about a namespace that is not there."""
    return Refused(f"namespace '{namespace}' was not found", status=404)
