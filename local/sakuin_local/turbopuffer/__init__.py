"""A stand-in for turbopuffer: its HTTP API on one machine, with its limits."""
