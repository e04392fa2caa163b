"""The command `sakuin`: a client of a deployment."""
