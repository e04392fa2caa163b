"""Paths of what the stack is made of: in the clone of this package, or installed with its wheel."""

import os
import sys
import sysconfig
from pathlib import Path

from sakuin import __version__

_CLONE = Path(__file__).resolve().parents[2]
IS_CLONE = (_CLONE / "template.yaml").exists()


def _cache() -> Path:
    """Returns the folder of what an installed `sakuin up` installs at its first start."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Path(home) / "sakuin" / f"{__version__}-{minor}"


REPOSITORY = _CLONE if IS_CLONE else Path(sysconfig.get_path("data")) / "share" / "sakuin"
TOOLS = _CLONE / ".tools" if IS_CLONE else _cache()
TEMPLATE = REPOSITORY / "template.yaml"
MIGRATIONS = REPOSITORY / "supabase" / "migrations"
SCHEMA = REPOSITORY / "supabase" / "schema"
EMULATOR = TOOLS / "emulator" / "bin"
UV = _CLONE / ".venv" / "bin" / "uv" if IS_CLONE else Path(sys.executable).with_name("uv")
SAMPLES = REPOSITORY / "samples"
SAMPLES_EN = REPOSITORY / "samples-en"
