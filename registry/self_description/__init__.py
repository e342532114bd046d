"""The registry describes itself as an agent service, in each format that it looks for on other hosts.

One list of capabilities (`capabilities.py`) becomes one service of the common model (`service.py`), and all documents
are written from it (`documents.py`, `texts.py`), so they cannot disagree. `app.py` serves them, and answers the
advertised calls that the API does not answer: invocations of the Web of Agents.
"""
