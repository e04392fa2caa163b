"""The documents of large Tables in a dictionary."""

from dataclasses import dataclass, field

from sakuin.errors import Invalid, NotFound
from sakuin.platform.s3 import UploadTarget


@dataclass
class MemoryBodies:
    bodies: dict[str, bytes] = field(default_factory=dict)

    def upload_target(self, key: str, *, seconds: int, size: int) -> UploadTarget:
        return UploadTarget(f"https://bucket/{key}?seconds={seconds}", {"Content-Length": str(size)})

    def read(self, key: str, *, max_bytes: int) -> bytes:
        if key not in self.bodies:
            raise NotFound(f"{key} is not in the bucket")
        if len(self.bodies[key]) > max_bytes:
            raise Invalid(f"The document has {len(self.bodies[key]):,} bytes, which are too many")
        return self.bodies[key]

    def write(self, key: str, body: bytes) -> None:
        self.bodies[key] = body
