"""The template's layers for this machine: built once per content, and passed to the functions as a path."""

import fcntl
import hashlib
import io
import os
import shutil
import sysconfig
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sakuin_local.aws.template import read_template
from sakuin_local.places import EMULATOR, IS_CLONE, REPOSITORY, TOOLS, UV
from sakuin_local.processes import Programs

# The files that decide how a layer is built.
BUILD_FILES = ("layers/build.mk", "layers/compile", "layers/interpreter")


def build_layers(template: Path, programs: Programs, *, minor: str) -> None:
    """Builds the layers that are not built yet, each with the Makefile that `sam build` uses.

    An installed `sakuin up` runs the functions on the packages that it was installed with.
    """
    if not IS_CLONE:
        return
    layers = {
        name: (template.parent / resource["Properties"]["ContentUri"]).resolve()
        for name, resource in read_template(template)["Resources"].items()
        if resource["Type"] == "AWS::Serverless::LayerVersion"
    }
    ours = {name: source for name, source in layers.items() if not is_our_own(source)}
    if all(built(source, minor).exists() for source in ours.values()):
        return
    folder = TOOLS / "layers"
    folder.mkdir(parents=True, exist_ok=True)
    # Another stack that starts now builds the same.
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = {name: source for name, source in ours.items() if not built(source, minor).exists()}
        with ThreadPoolExecutor() as threads:
            builds = [threads.submit(_build, name, source, programs, minor) for name, source in missing.items()]
    for build in builds:
        build.result()


def layer_archive(source: Path, *, minor: str) -> bytes:
    """Returns a zip with a `.pth` file that names the layer's folder.

    The emulator unpacks every layer for every worker, 100 MB and more; the path avoids that.
    """
    if not IS_CLONE:
        folder = Path(sysconfig.get_path("purelib"))
    else:
        folder = source if is_our_own(source) else built(source, minor) / "python"
    pointer = f"import sys; sys.path.insert(0, {str(folder)!r})\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        # A fixed time, so that the same path gives the same archive.
        name = f"python/lib/python{minor}/site-packages/{source.name}.pth"
        archive.writestr(zipfile.ZipInfo(name), pointer)
    return buffer.getvalue()


def is_our_own(source: Path) -> bool:
    """Returns whether the layer is code of this repository: used in place, so that an edit needs no build."""
    return not (source / "requirements.txt").exists()


def built(source: Path, minor: str) -> Path:
    """Returns the folder of a layer with this content, whether it is built or not."""
    return TOOLS / "layers" / f"{source.name}-{minor}-{_content(source)}"


def _build(logical_id: str, source: Path, programs: Programs, minor: str) -> None:
    target = built(source, minor)
    for older in target.parent.glob(f"{source.name}-{minor}-*"):
        shutil.rmtree(older, ignore_errors=True)
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.new")
    command = [
        "make",
        "--silent",
        f"--makefile={source / 'Makefile'}",
        f"build-{logical_id}",
        f"ARTIFACTS_DIR={unfinished}",
        f"PY={minor}",
        # This machine's platform.
        "PLATFORM=",
        f"UV={UV}",
    ]
    environment = {**os.environ, "PYTHON_OF_LAYER": str(EMULATOR / "python")}
    try:
        programs.run(f"layer-{source.name}", command, environment)
        unfinished.rename(target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _content(source: Path) -> str:
    digest = hashlib.sha256()
    for file in [source / "requirements.txt", source / "Makefile", *(REPOSITORY / name for name in BUILD_FILES)]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
