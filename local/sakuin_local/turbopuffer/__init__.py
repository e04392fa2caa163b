"""A stand-in for turbopuffer: its HTTP API on one machine, held to its limits."""
