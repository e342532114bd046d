"""Benchmarks. README.md lists them with the commands that repeat them."""

import registry  # noqa: F401  # sets the number of BLAS threads, which works only before numpy is loaded
