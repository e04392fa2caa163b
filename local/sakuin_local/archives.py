"""A folder of code as a zip that is the same whenever the code is."""

import io
import zipfile
from pathlib import Path


def zipped(folder: Path) -> bytes:
    """The folder's files without bytecode; times are left out."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.writestr(zipfile.ZipInfo(str(file.relative_to(folder))), file.read_bytes())
    return buffer.getvalue()
