"""The console: pages for people, in the function `api`."""
