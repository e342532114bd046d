"""Merge the documents of one host into one service: one module for each question that needs two documents.

`merge.py` calls them in order. Nothing here reads or fetches: documents come with their assessments.
"""
