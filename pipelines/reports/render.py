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

from ...metrics.benchmark import error_text
from ...metrics.version import VERSION
from ...transforms.records import writable
from ..runs.provenance import PAGE_PROBLEM
from .cells import CellWriter, as_html, block_table, breakable, cell_markdown, histogram
from .document import Document
from .text import clipped, prose, visible, visible_json

_log = logging.getLogger(__name__)
MAX_CODE_LENGTH = 20_000
_NO_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>beamscore</title></head>
<body><h1>This page could not be made</h1><p>{reason}</p>
<p>The files beside it have the result: {others}.</p></body></html>
"""

Documents = Sequence[Document]


class Reports(NamedTuple):
    """The files of a report by name, and entries for the JSON next to it: the verdict on two runs, and why the page
    could not be made, if so."""

    files: dict[str, bytes]
    about: dict[str, Any]


def write_reports(
    documents: Documents, report: str, page: Callable[[], Documents] | None, page_name: str, others: str
) -> Reports:
    """Returns the Markdown of documents and, unless `page` is None, the page of the documents that it returns.

    If the page cannot be made, it says why and which `others` have the result: an error here never loses a result.
    """
    files: dict[str, bytes] = {report: render_markdown(documents).encode()}
    about: dict[str, Any] = {}
    if documents[0].differences:
        verdict = documents[0].verdict
        links = {name: [each.text for each in getattr(verdict, name)] for name in ("reasons", "lost")}
        about["verdict"] = {"judgement": verdict.judgement, "sentence": verdict.sentence, **links}
    try:
        if page is not None:
            files[page_name] = render(page())
    except Exception as error:  # noqa: BLE001 - the result is complete, and must be published
        _log.exception("%s could not be made", page_name)
        about[PAGE_PROBLEM] = reason = writable(f"{type(error).__name__}: {error_text(error)}")
        files[page_name] = _NO_PAGE.format(reason=html.escape(reason), others=others).encode()
    return Reports(files, about)


def render(documents: Documents) -> bytes:
    """Returns the page as UTF-8, with scripts, styles and data inline, and a policy that forbids every request."""
    last = "history" if documents[0].kind == "history" else "report"
    scripts = [_asset("scripts", f"{name}.js") for name in ("base", "table", last)]
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_source_hash, scripts))}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    text = _template("page.html.jinja", as_html).render(
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
    return value if isinstance(value, Markup) else Markup(prose(clipped(value)))


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
        "table": lambda table: Markup(block_table(table)),
        "paragraph": lambda value: Markup(cell_markdown(value)),
        "whole": lambda text: Markup(html.escape(visible(clipped(text, MAX_CODE_LENGTH)))),
    }
    environment.globals |= {"breakable": breakable, "histogram": histogram}
    return environment.get_template(name)
