"""The texts for people in each language: those of the console, reasons and findings."""
