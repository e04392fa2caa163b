"""What runs on a schedule: the outbox, stalled work, reconciliation, index versions, the canary."""
