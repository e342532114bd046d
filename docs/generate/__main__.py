"""`python -m docs.generate [--check]`."""

import sys

from docs.generate import main

sys.exit(main(sys.argv[1:]))
