"""Searched rows in the namespaces of turbopuffer."""
