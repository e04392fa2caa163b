"""Sakuin beside what people would use instead, timed by turns in one run."""
