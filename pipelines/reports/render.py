"""Renders documents: as one HTML file that asks no network for anything, and as Markdown."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import html
import logging
import re
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any, NamedTuple

import jinja2
import msgspec
from markupsafe import Markup

from ...metrics.common.errors import explain
from ...metrics.table import Table
from ...metrics.version import VERSION
from ...transforms.records import writable
from ..runs import numbers
from ..runs.provenance import problems_of_page
from . import figures, markdown
from .document import Document, cell_name
from .text import clipped, visible, visible_json

_log = logging.getLogger(__name__)
SCRIPTS = ("base", "address", "table")
"""The scripts of every page; those of its kind follow, of which the last fills it."""
SCRIPTS_OF_KIND = {"history": ("history",), "evaluation": ("slices", "samples"), "comparison": ("slices", "samples")}
SYMBOLS = (
    "M5 0A5 5 0 1 1-5 0A5 5 0 1 1 5 0Z",
    "M-4.5-4.5h9v9h-9Z",
    "M0-6L6 4.5H-6Z",
    "M0-6.5L5.5 0L0 6.5L-5.5 0Z",
    "M0-7L1.6-2.2H6.6L2.6.8L4.1 5.6L0 2.7L-4.1 5.6L-2.6.8L-6.6-2.2H-1.6Z",
    "M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4Z",
)
_NO_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>beamscore</title></head>
<body><h1>This page could not be made</h1><p>{reason}</p>
<p>The files beside it have the result: {others}.</p></body></html>
"""

Documents = Sequence[Document]


class Reports(NamedTuple):
    """The files of a report by name, the documents behind it, and why its page could not be made."""

    files: dict[str, bytes]
    documents: Documents
    problem: str | None

    def about(self) -> dict[str, Any]:
        """Returns what the JSON beside the report says of it: the verdict on two runs, and why there is no page."""
        first = self.documents[0]
        lost = [each.text for each in first.verdict.lost]
        verdict = {"verdict": {**msgspec.to_builtins(first.verdict), "lost": lost}} if first.differences else {}
        return {**verdict, **problems_of_page(self.problem)}


def write_reports(
    documents: Document | Documents,
    report: str,
    page: Callable[[], Document | Documents] | None,
    page_name: str,
    others: str,
) -> Reports:
    """Returns the Markdown of documents and, where `page` makes its documents, the page.

    Where it cannot be made, the page says why and which `others` have the result: no result is lost for its page.
    """
    found = [documents] if isinstance(documents, Document) else list(documents)
    files, reason = {report: render_markdown(found).encode()}, None
    if page is not None:
        try:
            made = page()
            files[page_name] = render([made] if isinstance(made, Document) else made)
        except Exception as error:  # noqa: BLE001 - the result is there, and must be published
            _log.exception("%s could not be made", page_name)
            reason = writable(f"{type(error).__name__}: {explain(error)}")
            files[page_name] = _NO_PAGE.format(reason=html.escape(reason), others=others).encode()
    return Reports(files, found, reason)


def render(documents: Documents) -> bytes:
    """Returns the page as UTF-8: scripts, styles and data inside, and a policy that forbids every request."""
    scripts = [_asset("scripts", f"{name}.js") for name in (*SCRIPTS, *SCRIPTS_OF_KIND[documents[0].kind])]
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(_source_hash(script) for script in scripts)}",
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    text = _template("page.html.jinja", _as_html).render(
        documents=documents,
        version=VERSION,
        policy=policy,
        styles=_asset("templates", "page.css"),
        symbols=SYMBOLS,
        scripts=scripts,
        data=pack(documents),
    )
    return text.encode("utf-8", "replace")


def pack(documents: Documents) -> str:
    """Returns what the scripts read as JSON, compressed with gzip, in base64; equal pages give equal text."""
    content = visible_json(msgspec.json.encode([document.data() for document in documents]).decode())
    return base64.b64encode(gzip.compress(content.encode(), compresslevel=6, mtime=0)).decode("ascii")


def render_markdown(documents: Documents) -> str:
    """Returns the documents in Markdown."""
    text = _template("report.md.jinja", _as_markdown).render(documents=documents)
    return markdown.aligned(re.sub(r"\n{3,}", "\n\n", text.strip())) + "\n"


def _as_html(value: Any) -> str:
    """Returns what stands in the page for a value of a template; Jinja escapes it."""
    if isinstance(value, str):
        return value if isinstance(value, Markup) else visible(clipped(value))
    return f"{value:,}" if isinstance(value, int) else markdown.number(value)


def _as_markdown(value: Any) -> Markup:
    """Returns what stands in Markdown for a value of a template: escaped, so that Jinja leaves it as it is."""
    if isinstance(value, str):
        return value if isinstance(value, Markup) else Markup(markdown.prose(clipped(value)))
    return Markup(markdown.number(value))


@functools.cache
def _asset(folder: str, name: str) -> str:
    return resources.files(__package__).joinpath(folder).joinpath(name).read_text(encoding="utf-8")


def _source_hash(script: str) -> str:
    """Returns what a policy calls a script that may run: the hash of all that stands between its tags."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode('ascii')}'"


@functools.cache
def _template(name: str, finalize: Callable[[Any], Any]) -> jinja2.Template:
    is_markdown = finalize is _as_markdown
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(lambda wanted: _asset("templates", wanted)),
    )
    environment.filters |= {
        "signed": lambda value: Markup(numbers.signed(value) if is_markdown else numbers.typeset(value)),
        "percent": lambda share: "–" if share is None else f"{share:.3f}",
        "words": lambda text: text.replace("_", " "),
        "parts": parts,
        "whole": lambda text: Markup(html.escape(visible(clipped(text, MAX_CONFIGURATION_LENGTH)))),
        # Markdown
        "code": lambda text: Markup(markdown.code(text)),
        "cell": lambda text: Markup(markdown.cell(text)),
        "metric": lambda found: Markup(markdown.metric_text(found.value, found.low, found.high)),
        "difference": _difference,
        "table": lambda part: Markup(markdown.data_table(Table(part.title, part.header, part.rows))),
    }
    environment.globals |= {
        "verdicts_line": markdown.verdicts_line, "samples_line": markdown.samples_line, "LEFT_OUT": markdown.LEFT_OUT,
        "value_whisker": figures.value_whisker, "difference_whisker": figures.difference_whisker,
        "histogram": figures.histogram, "cell_name": cell_name,
    }  # fmt: skip
    return environment.get_template(name)


MAX_CONFIGURATION_LENGTH = 20_000


def _difference(found: Any) -> Markup:
    interval = None if found.low is None else (found.low, found.high)
    return Markup(markdown.difference_text({"difference": found.value, "interval": interval}))


def parts(text: str) -> list[str]:
    """Returns the parts between which a name may be broken: behind its dots, underscores and equals signs."""
    return re.split(r"(?<=[._=])(?=.)", text)
