"""The `learns` of an explanation: things that a reader can do afterwards."""
