"""The functions' secret, in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sakuin.errors import Conflict, NotFound
from sakuin_cli.ports import SecretVersion


@dataclass
class MemorySecret:
    """A `StoredSecret`; without `members` there is none."""

    members: Mapping[str, object] | None = field(default_factory=dict)
    version: int = 1

    def read(self) -> SecretVersion:
        if self.members is None:
            raise NotFound("There is no secret")
        return SecretVersion(self.members, str(self.version))

    def replace(self, members: Mapping[str, object], *, seen: str) -> None:
        if seen != str(self.version):
            raise Conflict("Somebody else changed the secret")
        self.members = dict(members)
        self.version += 1
