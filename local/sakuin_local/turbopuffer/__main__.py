"""The stand-in as a program: `python -m sakuin_local.turbopuffer PORT DATA`, DATA a folder."""

import sys
from pathlib import Path

from sakuin_local.serving import run
from sakuin_local.turbopuffer.endpoint import application
from sakuin_local.turbopuffer.store import Store

if __name__ == "__main__":
    port, folder = int(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    run(application(Store(folder / "turbopuffer.sqlite")), port)
