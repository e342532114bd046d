"""Who may change what: secret tokens, and the entries of the audit log."""
