"""How the documents of one host become one service: one room for each question that needs two documents.

`merge.py` asks them in order. Nothing in here reads or fetches: documents come with their assessments.
"""
