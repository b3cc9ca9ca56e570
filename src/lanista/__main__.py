"""`python -m lanista` is `lanista`."""

import sys

from lanista.cli.main import main

# Spawned workers import this module again; only the first process is a command.
if __name__ == "__main__":
    sys.exit(main())
