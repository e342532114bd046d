"""Relevance of the search on labelled queries, the contribution of each part of the ranker, and adversarial input."""
