"""`python -m tests.digests FILE ...` writes into test files the digests that the outputs pinned there have now.

Before that, look at what has changed: a failing test names the file with all that its digest stands for.
"""

import re
import subprocess
import sys
from pathlib import Path

DIFFERENT = re.compile(r"assert '([0-9a-f]{16})' == '([0-9a-f]{16})'")


def main(*files: str) -> None:
    count = 0
    for path in map(Path, files):
        # No compiled file is kept: the one of the old digests would have the size and the second of the new.
        command = [sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", str(path)]
        told = subprocess.run(command, capture_output=True, encoding="utf-8").stdout
        text = path.read_text(encoding="utf-8")
        for found, pinned in dict.fromkeys(DIFFERENT.findall(told)):
            text, count = text.replace(f'"{pinned}"', f'"{found}"'), count + 1
        path.write_text(text, encoding="utf-8")
    print(f"{count} digests written")


if __name__ == "__main__":
    main(*sys.argv[1:])
