"""An author's site: its files, what a push would do with them, uploads, deletions, and the files of `init`."""
