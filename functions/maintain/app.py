"""Sees on a schedule that nothing is lost or stuck."""

import os

from sakuin.bootstrap.maintaining import maintainer

handler = maintainer(os.environ)
