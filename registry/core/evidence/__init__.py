"""What this registry can show of what it saw: differences of documents, wishes about copies, availability by day."""
