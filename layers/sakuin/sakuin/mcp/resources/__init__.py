"""What a library offers beside its tools: its pages as resources, a skill, and documents for those who look for it."""
