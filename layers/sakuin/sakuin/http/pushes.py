"""The REST API of `sakuin push`: uploads through presigned URLs, below the folder of a key that pushes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field

from sakuin.errors import Unauthorized
from sakuin.http.errors import check_query, may_fail
from sakuin.knowledge.library import Library
from sakuin.knowledge.model import UploadResult
from sakuin.knowledge.validation import IndexedChunk
from sakuin.platform.keys import LibraryKey, RecordUse, matching_hash
from sakuin.platform.s3 import UploadTarget
from sakuin.platform.secrets import KeyRing

# Returns the valid key in these headers that pushes, and counts its request; None if there is none.
PushKey = Callable[[Mapping[str, str]], LibraryKey | None]

_MOST_UPLOADS = 100
_MOST_VERSIONS = 500


class VersionView(BaseModel):
    """One version of one S3 object."""

    key: str
    version_id: str


class VersionsView(BaseModel):
    """Uploaded versions."""

    versions: list[VersionView] = Field(max_length=_MOST_VERSIONS)


class ReceiptsView(BaseModel):
    """The results of processed versions."""

    receipts: Sequence[UploadResult]


class AnchorsView(BaseModel):
    """The indexed anchors by material. Materials that are not indexed are omitted."""

    materials: Mapping[str, Sequence[IndexedChunk]]


class FilesView(BaseModel):
    """One page of the files of a folder; `next_cursor` is the `after` of the next page."""

    material_prefix: str = Field(description="How all keys begin: the deployment's `MaterialPrefix`.")
    folder: str = Field(description="The folder that the caller's key opens, empty for the whole library.")
    files: dict[str, str] = Field(description="The ETag of each file by its key.")
    next_cursor: str | None


class TextView(BaseModel):
    """The text of a `learns.yml` or `synonyms.yml`."""

    text: str


class FileAsked(BaseModel):
    """A file to upload."""

    key: str = Field(description="Its key, NFC.")
    size: int = Field(ge=0, description="Its bytes.")
    md5: str = Field(pattern="^[0-9a-f]{32}$", description="Its MD5 in hex.")


class UploadsAsked(BaseModel):
    """Files to upload."""

    files: list[FileAsked] = Field(max_length=_MOST_UPLOADS)


class UploadTargetsView(BaseModel):
    """Presigned URLs, in the order of the files, each for a PUT of exactly this file within 15 minutes."""

    uploads: Sequence[UploadTarget]


class RemovedView(BaseModel):
    """A file that was removed."""

    version_id: str = Field(description="The id of its delete marker.")


def folder_of_key(admin_keys: KeyRing, push_key: PushKey, record_use: RecordUse) -> Callable[[Request], str | None]:
    """Returns the dependency of routes for admins and for keys that push: the folder of the key, None for an admin."""

    def folder_of(request: Request) -> str | None:
        if (admin := matching_hash(request.headers, admin_keys)) is not None:
            record_use(admin)
            folder = None
        elif (key := push_key(request.headers)) is not None:
            folder = key.folder
        else:
            raise Unauthorized("Send the header Authorization: Bearer <a key that pushes, or an admin key>")
        check_query(request)
        return folder

    return folder_of


def push_router(library: Library, folder_of: Callable[[Request], str | None]) -> APIRouter:
    """Returns the routes of files: 403 for what is not in the folder of the key."""
    own = Annotated[str | None, Depends(folder_of)]
    routes = APIRouter(prefix="/v1", tags=["Pushes"], responses=may_fail(401, 422, 429, 503))

    @routes.get("/files")
    def list_files(
        folder: own,
        after: Annotated[str, Query(max_length=1024)] = "",
        limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    ) -> FilesView:
        """Returns the ETags of the files in the caller's folder, to compare them with files that are not uploaded."""
        files, next_cursor = library.files(folder or "", after=after, limit=limit)
        prefix = library.prefix
        return FilesView(material_prefix=prefix, folder=folder or "", files=files, next_cursor=next_cursor)

    @routes.get("/files/text", responses=may_fail(403, 404))
    def read_text(folder: own, key: str) -> TextView:
        """Returns a `learns.yml` or `synonyms.yml`."""
        return TextView(text=library.text(key, folder or ""))

    @routes.post("/files/uploads", responses=may_fail(403))
    def announce_uploads(folder: own, asked: UploadsAsked) -> UploadTargetsView:
        """Returns presigned URLs. The answer to the PUT names the version in `x-amz-version-id`."""
        targets = [
            library.upload_target(one.key, folder or "", size=one.size, md5=bytes.fromhex(one.md5))
            for one in asked.files
        ]
        return UploadTargetsView(uploads=targets)

    @routes.delete("/files", responses=may_fail(403))
    def remove_file(folder: own, key: str) -> RemovedView:
        """Removes a file. One that does not exist is not an error."""
        return RemovedView(version_id=library.remove(key, folder or ""))

    @routes.post("/receipts", responses=may_fail(403))
    def find_receipts(folder: own, asked: VersionsView) -> ReceiptsView:
        """Returns the results of uploaded versions. Versions that were not processed yet are omitted."""
        for item in asked.versions if folder is not None else ():
            library.check_key(item.key, folder or "")
        versions = [(item.key, item.version_id) for item in asked.versions]
        return ReceiptsView(receipts=library.records.upload_results(versions))

    @routes.post("/anchors", responses=may_fail(403))
    def find_anchors(folder: own, materials: Annotated[list[str], Field(max_length=_MOST_VERSIONS)]) -> AnchorsView:
        """Returns the indexed anchors of materials, to compare them with pages that are not uploaded yet."""
        for material in materials:
            library.check_material(material, folder or "")
        return AnchorsView(materials=library.records.indexed_materials(materials))

    return routes
