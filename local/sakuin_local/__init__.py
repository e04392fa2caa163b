"""The whole stack on one machine: the deployed template and everything that it calls."""
