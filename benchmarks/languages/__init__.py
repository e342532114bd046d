"""Fits the table that tells the language of a short question (registry/core/wording/language.py)."""
