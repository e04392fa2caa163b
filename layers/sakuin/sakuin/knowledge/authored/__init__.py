"""The files that authors write beside their pages: `learns.yml` and `synonyms.yml`."""
