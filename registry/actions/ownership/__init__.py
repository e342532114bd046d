"""The life of an ownership: claimed, proven, verified again, used by its owner, ended."""
