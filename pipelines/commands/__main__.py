"""`python -m beamscore.pipelines.commands` is the command `beamscore`, and this its entry point."""

import sys


def main() -> int:
    """Runs the command line and returns the exit code; see `.main`."""
    # The imports take a moment in which Ctrl-C may come.
    try:
        from .main import main as run
    except KeyboardInterrupt:
        print("beamscore: interrupted", file=sys.stderr)
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
