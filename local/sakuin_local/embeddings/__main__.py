"""The endpoint as a program: `python -m sakuin_local.embeddings PORT CACHE_FILE [URL | PATH]`.

With the URL of a deployment and SAKUIN_PUSH_KEY, its model answers instead of that of this machine; with a path, the
model of ONNX there.
"""

import os
import sys
from pathlib import Path

from sakuin_local.embeddings.cache import VectorCache
from sakuin_local.embeddings.deployment import SLICE, DeploymentModel
from sakuin_local.embeddings.endpoint import Endpoint
from sakuin_local.embeddings.model import Model
from sakuin_local.serving import run

if __name__ == "__main__":
    port, file = int(sys.argv[1]), Path(sys.argv[2])
    if not file.exists():
        VectorCache(file).add_recorded()
    if sys.argv[3:] and (path := Path(sys.argv[3])).exists():
        from sakuin_local.embeddings.onnx import OnnxModel

        named = OnnxModel(path)
        name = named.name()
        endpoint = Endpoint(named, VectorCache(file, name), name=name, dimensions=named.dimensions)
    elif sys.argv[3:]:
        deployed = DeploymentModel(sys.argv[3], os.environ["SAKUIN_PUSH_KEY"])
        name = deployed.name()
        endpoint = Endpoint(deployed, VectorCache(file, name), name=name, size=SLICE)
    else:
        endpoint = Endpoint(Model(), VectorCache(file))
    run(endpoint.application(), port)
