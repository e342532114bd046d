"""What a list of a million names costs: see `__main__`."""
