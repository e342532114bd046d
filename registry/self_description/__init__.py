"""The registry describes itself as an agent service, in each format that it looks for on other hosts.

One list of capabilities (`capabilities.py`) becomes one service of the common model (`service.py`), from which all
documents are written (`documents.py`, `texts.py`): they cannot disagree. What they advertise and the API does not
answer by itself is answered here: invocations of the Web of Agents (`woa.py`).
"""
