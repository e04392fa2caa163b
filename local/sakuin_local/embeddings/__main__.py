"""The endpoint as a program: `python -m sakuin_local.embeddings PORT CACHE_FILE`."""

import sys
from pathlib import Path

import uvicorn

from sakuin_local.embeddings.cache import VectorCache
from sakuin_local.embeddings.endpoint import application
from sakuin_local.embeddings.model import Model
from sakuin_local.embeddings.recorded import put_into
from sakuin_local.same_machine import SameMachine
from sakuin_local.serving import configuration, listen

if __name__ == "__main__":
    port, file = int(sys.argv[1]), Path(sys.argv[2])
    if not file.exists():
        put_into(file)
    served = SameMachine(application(Model(), VectorCache(file)))
    uvicorn.Server(configuration(served)).run(sockets=[listen(port)])
