"""Who may change what: API keys of operators, and what the audit log tells of their decisions."""
