"""Scheduled work: the outbox, reconciliation, index versions, the canary."""
