"""The stand-in as a program: `python -m sakuin_local.turbopuffer PORT DATA`, DATA a folder."""

import sys
import threading
from pathlib import Path

import uvicorn

from sakuin_local.same_machine import SameMachine
from sakuin_local.serving import configuration, listen
from sakuin_local.turbopuffer.endpoint import application
from sakuin_local.turbopuffer.pace import AT_ONCE
from sakuin_local.turbopuffer.store import Store

if __name__ == "__main__":
    port, folder = int(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(folder / "turbopuffer.sqlite", AT_ONCE)
    threading.Thread(target=store.warm, daemon=True).start()
    served = SameMachine(application(store))
    uvicorn.Server(configuration(served)).run(sockets=[listen(port)])
