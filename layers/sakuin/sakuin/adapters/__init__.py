"""One outside system a file: translation and nothing else."""
