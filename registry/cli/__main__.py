"""`python -m registry.cli`: how a supervised worker is started, whatever is on PATH."""

from registry.cli import main

main()
