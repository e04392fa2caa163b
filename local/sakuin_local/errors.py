"""What can go wrong on this machine; every message says what to do."""


class LocalError(Exception):
    """The stack cannot do what was asked; the message is for the person at the terminal."""


class OtherMigrations(LocalError):
    """The database was made with other migrations than those of this version; the message says which."""


class ServiceDied(LocalError):
    """A program of the stack ended by itself."""


class Stopped(LocalError):
    """The person asked to stop while something was still starting."""
