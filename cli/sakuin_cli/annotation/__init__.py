"""Ids for boxes in the sources of pages, for `sakuin annotate`."""
