"""Whether the right service comes first: relevance on labelled queries, each part's share, and adversaries."""
