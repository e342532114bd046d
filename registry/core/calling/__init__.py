"""Say how a capability is called: everything that a caller needs, from our answer alone."""
