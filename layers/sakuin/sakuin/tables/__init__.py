"""Specification 2: Search Tools over large JSON documents."""
