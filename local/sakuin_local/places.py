"""Paths inside the clone that this package is installed from."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TOOLS = REPOSITORY / ".tools"
TEMPLATE = REPOSITORY / "template.yaml"
MIGRATIONS = REPOSITORY / "supabase" / "migrations"
SCHEMA = REPOSITORY / "supabase" / "schema"
EMULATOR = TOOLS / "emulator" / "bin"
UV = REPOSITORY / ".venv" / "bin" / "uv"
SAMPLES = REPOSITORY / "samples"
