"""The materials bucket as a key that pushes sees it: its folder, over the API and presigned URLs."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import md5

from sakuin.errors import Invalid
from sakuin.platform.s3 import S3Bucket, StoredObject

from sakuin_cli.client import DeploymentClient
from sakuin_cli.files import read_bytes
from sakuin_cli.portions import portions
from sakuin_cli.rest import Record
from sakuin_cli.site.uploads import Upload

_UPLOADS_A_REQUEST = 100


@dataclass(frozen=True, slots=True)
class SignedBucket:
    """What `sakuin push` needs of `S3Bucket`. Thread-safe."""

    client: DeploymentClient
    _targets: dict[tuple[str, str], Record] = field(default_factory=dict, init=False)

    def announce(self, uploads: Iterable[Upload]) -> None:
        """Asks for the addresses of many uploads at once. Each is valid for 15 minutes."""
        files = [_file(upload.key, read_bytes(upload.path)) for upload in uploads]
        for some in portions(files, _UPLOADS_A_REQUEST):
            # One file may be wrong: `write` announces each of these alone, and that one fails alone.
            with suppress(Invalid):
                for file, target in zip(some, self.client.announce_files(some), strict=True):
                    self._targets[file["key"], file["md5"]] = target

    def etags(self, prefix: str) -> Mapping[str, str]:
        """Returns the ETag of each key below `prefix`, by key, in order."""
        return {key: tag for key, tag in self.client.file_tags().items() if key.startswith(prefix)}

    def current_version(self, key: str) -> str | None:
        """Returns the ETag in place of the version; None without a file."""
        return self.etags(key).get(key)

    def read(self, key: str, *, max_bytes: int) -> StoredObject:
        """Returns a `learns.yml` or `synonyms.yml`; the API limits its size."""
        text: str = self.client.call("GET", "files", "text", params={"key": key})["text"]
        return StoredObject(text.encode()[:max_bytes], None)

    def write(self, key: str, body: bytes, *, content_type: str) -> str:
        """Uploads a file and returns the id of its version. The API gives the same `content_type`."""
        file = _file(key, body)
        target = self._targets.pop((key, file["md5"]), None)
        if target is None:
            (target,) = self.client.announce_files([file])
        return self.client.upload(target, body)

    def remove(self, key: str) -> str:
        """Writes a delete marker and returns its version id."""
        return str(self.client.call("DELETE", "files", params={"key": key})["version_id"])


Bucket = S3Bucket | SignedBucket


def _file(key: str, body: bytes) -> Record:
    return {"key": key, "size": len(body), "md5": md5(body, usedforsecurity=False).hexdigest()}
