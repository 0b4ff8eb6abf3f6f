"""`python -m groundstate`: the command line, where the `groundstate` script is not on the path."""

import sys

from groundstate.cli.main import main

sys.exit(main())
