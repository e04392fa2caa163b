"""The REST API of `sakuin push`: uploads through presigned URLs, below the folder of a key that pushes."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field

from sakuin.http.access import FolderOfKey, Services, push_routes
from sakuin.http.errors import may_fail
from sakuin.knowledge.model import UploadResult
from sakuin.knowledge.page import IndexedChunk
from sakuin.platform.retry import Waiting
from sakuin.platform.s3 import UploadTarget

_MOST_UPLOADS = 100
_MOST_VERSIONS = 500


class VersionView(BaseModel):
    """One version of one S3 object."""

    key: str
    version_id: str


class VersionsView(BaseModel):
    """Uploaded versions."""

    versions: list[VersionView] = Field(max_length=_MOST_VERSIONS)


class UploadResultsView(BaseModel):
    """The results of processed versions."""

    results: Sequence[UploadResult]
    waiting: Sequence[Waiting] = Field(description="Why files without a result wait, by their keys.")


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


class NewFile(BaseModel):
    """A file to upload."""

    key: str = Field(description="Its key, NFC.")
    size: int = Field(ge=0, description="Its bytes.")
    md5: str = Field(pattern="^[0-9a-f]{32}$", description="Its MD5 in hex.")


class NewFiles(BaseModel):
    """Files to upload."""

    files: list[NewFile] = Field(max_length=_MOST_UPLOADS)


class UploadTargetsView(BaseModel):
    """Presigned URLs, in the order of the files, each for a PUT of exactly this file within 15 minutes."""

    uploads: Sequence[UploadTarget]


class RemovedView(BaseModel):
    """A file that was removed."""

    version_id: str = Field(description="The id of its delete marker.")


router = push_routes()


@router.get("/files")
def list_files(
    folder: FolderOfKey,
    services: Services,
    after: Annotated[str, Query(max_length=1024)] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
) -> FilesView:
    """Returns the ETags of the files in the caller's folder, to compare them with files that are not uploaded."""
    files, next_cursor = services.library.files(folder or "", after=after, limit=limit)
    prefix = services.library.prefix
    return FilesView(material_prefix=prefix, folder=folder or "", files=files, next_cursor=next_cursor)


@router.get("/files/text", responses=may_fail(403, 404))
def read_text(folder: FolderOfKey, services: Services, key: str) -> TextView:
    """Returns a `learns.yml` or `synonyms.yml`."""
    return TextView(text=services.library.text(key, folder or ""))


@router.post("/files/uploads", responses=may_fail(403))
def announce_uploads(folder: FolderOfKey, services: Services, request: NewFiles) -> UploadTargetsView:
    """Returns presigned URLs. The answer to the PUT names the version in `x-amz-version-id`."""
    targets = [
        services.library.upload_target(file.key, folder or "", size=file.size, md5=bytes.fromhex(file.md5))
        for file in request.files
    ]
    return UploadTargetsView(uploads=targets)


@router.delete("/files", responses=may_fail(403))
def remove_file(folder: FolderOfKey, services: Services, key: str) -> RemovedView:
    """Removes a file. One that does not exist is not an error."""
    return RemovedView(version_id=services.library.remove(key, folder or ""))


@router.post("/files/results", responses=may_fail(403))
def list_upload_results(folder: FolderOfKey, services: Services, request: VersionsView) -> UploadResultsView:
    """Returns the results of uploaded versions. Versions that were not processed yet are omitted."""
    for item in request.versions if folder is not None else ():
        services.library.check_key(item.key, folder or "")
    versions = [(item.key, item.version_id) for item in request.versions]
    results = services.library.records.upload_results(versions)
    left = {key for key, _ in versions} - {result.key for result in results}
    return UploadResultsView(results=results, waiting=services.library.records.waiting_files(left) if left else ())


@router.post("/anchors", responses=may_fail(403))
def find_anchors(
    folder: FolderOfKey, services: Services, materials: Annotated[list[str], Field(max_length=_MOST_VERSIONS)]
) -> AnchorsView:
    """Returns the indexed anchors of materials, to compare them with pages that are not uploaded yet."""
    for material in materials:
        services.library.check_material(material, folder or "")
    return AnchorsView(materials=services.library.records.indexed_materials(materials))
