"""`python -m beamscore.pipelines.cli` is the command `beamscore`."""

import sys

from .start import main

if __name__ == "__main__":
    sys.exit(main())
