"""Specification 1: teaching pages, from the bucket to answers."""
