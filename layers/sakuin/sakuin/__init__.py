"""Sakuin: an event-driven knowledge index that agents search."""

__version__ = "1.0.0"
