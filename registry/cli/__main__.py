"""`python -m registry.cli`: the command that starts a supervised worker, independent of PATH."""

from registry.cli import main

main()
