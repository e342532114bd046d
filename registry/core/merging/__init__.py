"""How the documents of one host become one service: one module for each question that needs two documents.

`merge.py` calls them in order. Nothing here reads or fetches: documents come with their assessments.
"""
