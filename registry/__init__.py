"""Waypost: the open discovery registry of the agent web. Layout and rules: docs/architecture.md."""

import os

# The sums of search are small: threads of the linear algebra would cost more CPU than they save, and take it from
# other requests. Read when numpy is first imported, which nothing of ours does before this.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
