"""The `learns` of an explanation: things that a reader can do afterwards; and the files of authors."""
