"""AWS on this machine: the emulator, and the template deployed on it."""
