"""Renders documents as one self-contained HTML file, which makes no network requests, and as Markdown."""

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

from ...metrics.benchmark import explain
from ...metrics.version import VERSION
from ...transforms.records import writable
from ..runs.provenance import problems_of_page
from . import markdown
from .document import Document
from .figures import CellWriter, histogram, shown
from .text import clipped, visible, visible_json

_log = logging.getLogger(__name__)
SCRIPTS = ("base", "address", "table")
"""The scripts of every page. The scripts of its kind follow; the last one fills the page."""
SCRIPTS_OF_KIND = {"history": ("history",), "evaluation": ("slices", "samples"), "comparison": ("slices", "samples")}
_NO_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>beamscore</title></head>
<body><h1>This page could not be made</h1><p>{reason}</p>
<p>The files beside it have the result: {others}.</p></body></html>
"""

Documents = Sequence[Document]


class Reports(NamedTuple):
    """The files of a report by name, its documents, and why its page could not be made, if so."""

    files: dict[str, bytes]
    documents: Documents
    problem: str | None

    def about(self) -> dict[str, Any]:
        """Returns the entries for the JSON next to the report: the verdict on two runs, and why the page is missing."""
        first = self.documents[0]
        verdict: dict[str, Any] = {"judgement": first.verdict.judgement, "sentence": first.verdict.sentence}
        verdict |= {name: [each.text for each in getattr(first.verdict, name)] for name in ("reasons", "lost")}
        return {**({"verdict": verdict} if first.differences else {}), **problems_of_page(self.problem)}


def write_reports(
    documents: Document | Documents,
    report: str,
    page: Callable[[], Document | Documents] | None,
    page_name: str,
    others: str,
) -> Reports:
    """Returns the Markdown of documents and, unless `page` is None, the page of the documents that it returns.

    If the page cannot be made, it says why and which `others` have the result: an error here never loses a result.
    """
    document_list = [documents] if isinstance(documents, Document) else list(documents)
    files, reason = {report: render_markdown(document_list).encode()}, None
    if page is not None:
        try:
            content = page()
            files[page_name] = render([content] if isinstance(content, Document) else content)
        except Exception as error:  # noqa: BLE001 - the result is complete, and must be published
            _log.exception("%s could not be made", page_name)
            reason = writable(f"{type(error).__name__}: {explain(error)}")
            files[page_name] = _NO_PAGE.format(reason=html.escape(reason), others=others).encode()
    return Reports(files, document_list, reason)


def render(documents: Documents) -> bytes:
    """Returns the page as UTF-8, with scripts, styles and data inline, and a policy that forbids every request."""
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
    text = _template("page.html.jinja", shown).render(
        documents=documents,
        Writer=CellWriter,
        version=VERSION,
        policy=policy,
        styles=_asset("templates", "page.css"),
        scripts=scripts,
        data=pack(documents),
    )
    return text.encode("utf-8", "replace")


def pack(documents: Documents) -> str:
    """Returns the JSON data for the scripts, gzipped, in base64. Equal documents give equal text."""
    text = visible_json(msgspec.json.encode([document.data() for document in documents]).decode())
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode("ascii")


def render_markdown(documents: Documents) -> str:
    """Returns the documents as Markdown."""
    text = _template("report.md.jinja", _as_markdown).render(documents=documents)
    return re.sub(r"\n{3,}", "\n\n", text.strip()) + "\n"


def _as_markdown(value: Any) -> Markup:
    """Returns a template value as escaped Markdown, marked so that Jinja does not escape it again."""
    return value if isinstance(value, Markup) else Markup(markdown.prose(clipped(value)))


@functools.cache
def _asset(folder: str, name: str) -> str:
    return resources.files(__package__).joinpath(folder).joinpath(name).read_text(encoding="utf-8")


def _source_hash(script: str) -> str:
    """Returns the source expression that allows a script in a policy: the hash of all text between its tags."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode('ascii')}'"


@functools.cache
def _template(name: str, finalize: Callable[[Any], Markup]) -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(lambda asset: _asset("templates", asset)),
    )
    environment.filters |= {
        "table": lambda table: Markup(markdown.block_table(table)),
        "paragraph": lambda value: Markup(markdown.cells(value)),
        "whole": lambda text: Markup(html.escape(visible(clipped(text, MAX_CODE_LENGTH)))),
    }
    environment.globals["histogram"] = histogram
    return environment.get_template(name)


MAX_CODE_LENGTH = 20_000
