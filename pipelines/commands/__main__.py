"""`python -m beamscore.pipelines.commands` is the command `beamscore`, and this its entry point."""

import sys

from .main import main

if __name__ == "__main__":
    sys.exit(main())
