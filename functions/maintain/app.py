"""Sees on a schedule that nothing is lost or stuck."""

import os

from sakuin.wiring.maintain import maintainer

handler = maintainer(os.environ)
