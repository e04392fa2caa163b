"""Drafts of `learns` for the review of an author, for `sakuin learns`."""
