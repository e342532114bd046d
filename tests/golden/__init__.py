"""Comparison of everything that the product computes with the results of a named earlier commit."""
