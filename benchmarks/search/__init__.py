"""The cost of a search: in process at 100,000 and 1,000,000 services, and over HTTP at 10,000."""
