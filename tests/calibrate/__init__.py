"""How often the intervals and tests hold, measured on generated populations: `make calibrate`."""

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from tabulate import tabulate

DOCS = Path(__file__).parents[2] / "docs"
BEGIN, END = "<!-- measured by make calibrate -->", "<!-- end of what is measured -->"


def write_measured(page: str, sections: Iterable[str]) -> None:
    """Puts texts, in lines of 120, and tables in the place of what was measured before in a page of docs."""
    path = DOCS / page
    head, _, rest = path.read_text("utf-8").partition(BEGIN)
    written = [each if each.startswith("|") else textwrap.fill(each, 120, break_on_hyphens=False) for each in sections]
    path.write_text(f"{head}{BEGIN}\n\n" + "\n\n".join(written) + f"\n\n{END}{rest.partition(END)[2]}", "utf-8")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], colalign: Sequence[str] | None = None) -> str:
    return tabulate(rows, headers=header, tablefmt="pipe", disable_numparse=True, colalign=colalign)
