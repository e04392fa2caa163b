"""AWS's edge as a program: a quarter of a gigabyte that `sam deploy` sends would stay in the memory of the tests.

usage: python -m tests.integration.edge PORT_OF_THE_EMULATOR PORT
"""

import signal
import sys

from sakuin_local.aws.emulator import Emulator, edge

if __name__ == "__main__":
    with edge(Emulator(int(sys.argv[1]), edge_port=int(sys.argv[2]))):
        signal.pause()
