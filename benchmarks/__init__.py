"""Measurements: each prints figures together with the command that repeats them (see README.md)."""

import registry  # noqa: F401  # decides how many threads numpy's BLAS has, which it can only before numpy is loaded
