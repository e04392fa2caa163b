"""Where settings become adapters and adapters become services: the only place where ports meet adapters."""

# Each function carries only the layers it needs and pays for each import at its cold start: what not all of them need
# is imported where it is used.
