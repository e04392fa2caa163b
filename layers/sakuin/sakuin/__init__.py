"""Sakuin: an event-driven knowledge index that agents search."""

__version__ = "0.1.0"
