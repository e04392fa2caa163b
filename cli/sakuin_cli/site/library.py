"""The files of the library in the bucket, over the API and presigned URLs."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import md5

from sakuin.errors import Invalid, NotFound, Unavailable

from sakuin_cli.client import DeploymentClient, given, pages_of
from sakuin_cli.rest import Record
from sakuin_cli.site.pages import content_of
from sakuin_cli.site.uploads import Upload


@dataclass(frozen=True, slots=True)
class LibraryFiles:
    """The files that the client's key opens, all or those of a folder. All keys begin with `prefix`. Thread-safe."""

    client: DeploymentClient
    prefix: str
    _targets: dict[tuple[str, str], Record] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, client: DeploymentClient) -> "LibraryFiles":
        """Asks the deployment for the prefix, so that a wrong key or address fails here."""
        return cls(client, client.call("GET", "files", params={"limit": 1})["material_prefix"])

    def announce(self, uploads: Sequence[Upload]) -> None:
        """Asks for the addresses of at most 100 uploads at once. Each is valid for 15 minutes."""
        # One file may be wrong: `write` announces each of these alone, and that one fails alone.
        with suppress(Invalid, NotFound, Unavailable):
            files = [_file(upload.key, content_of(upload.path)) for upload in uploads]
            for file, target in zip(files, self._announced(files), strict=True):
                self._targets[file["key"], file["md5"]] = target

    def etags(self) -> Mapping[str, str]:
        """Returns the ETag of each file by its key, in order."""
        pages = pages_of(lambda after: self.client.call("GET", "files", params=given(after=after)))
        return {key: tag for page in pages for key, tag in page["files"].items()}

    def read(self, key: str) -> bytes:
        """Returns a `learns.yml` or `synonyms.yml`."""
        text: str = self.client.call("GET", "files", "text", params={"key": key})["text"]
        return text.encode()

    def write(self, key: str, body: bytes) -> str:
        """Uploads a file and returns the id of its version."""
        file = _file(key, body)
        target = self._targets.pop((key, file["md5"]), None)
        if target is None:
            (target,) = self._announced([file])
        return self.client.upload(target, body)

    def remove(self, key: str) -> str:
        """Writes a delete marker and returns its version id."""
        return str(self.client.call("DELETE", "files", params={"key": key})["version_id"])

    def _announced(self, files: Sequence[Record]) -> Sequence[Record]:
        targets: Sequence[Record] = self.client.call("POST", "files", "uploads", json={"files": files})["uploads"]
        return targets


def etag(body: bytes) -> str:
    """Returns the ETag that S3 gives a file: its MD5."""
    return md5(body, usedforsecurity=False).hexdigest()


def _file(key: str, body: bytes) -> Record:
    return {"key": key, "size": len(body), "md5": etag(body)}
