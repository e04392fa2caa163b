"""Runs on a schedule: maintenance, reconciliation, the canary."""

import os

from sakuin.wiring.maintain import maintainer

handler = maintainer(os.environ)
