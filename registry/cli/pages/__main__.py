"""`python -m registry.cli.pages [--check]`."""

import sys

from registry.cli.pages import main

sys.exit(main(sys.argv[1:]))
