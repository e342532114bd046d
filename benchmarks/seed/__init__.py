"""The cost of seeding a list of a million names: see `__main__`."""
