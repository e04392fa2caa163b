"""Errors of the local stack; every message says what to do."""


class LocalError(Exception):
    """The stack cannot do this; the message is for the person at the terminal."""


class OtherMigrations(LocalError):
    """The database has other migrations than this version; the message names them."""


class ServiceDied(LocalError):
    """A program of the stack ended by itself."""


class Stopped(LocalError):
    """The person stopped the command while something was still starting."""
