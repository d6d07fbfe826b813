"""Writes a page as one HTML file that asks no network for anything."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import re
from importlib import resources

import jinja2
import msgspec

from ....metrics.version import VERSION
from .. import numbers
from .comparison_document import ComparisonPage
from .document import Page
from .history_document import HistoryPage

LIBRARIES = ("d3.min.js", "plot.umd.min.js", "tabulator.min.js")
STYLES = "tabulator_simple.min.css"
SCRIPTS = {
    "evaluation": ("base", "tables", "plots", "slices", "viewer", "samples", "evaluation"),
    "comparison": ("base", "tables", "plots", "viewer", "comparison"),
    "history": ("base", "tables", "plots", "history"),
}
"""The scripts of each kind of page, in order; the last of them fills the page."""

AnyPage = Page | ComparisonPage | HistoryPage


def render(page: AnyPage) -> bytes:
    """Returns the page as UTF-8: scripts, styles and data inside, and a policy that forbids every request."""
    scripts = _scripts(page.kind)
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
    text = _template(f"{page.kind}.html.jinja").render(
        page=page,
        version=VERSION,
        policy=policy,
        styles=[_asset("vendor", STYLES), _asset("templates", "page.css")],
        scripts=scripts,
        data=pack(page),
    )
    return text.encode("utf-8", "replace")


def pack(page: AnyPage) -> str:
    """Returns what the script reads as JSON, compressed with gzip, in base64; equal pages give equal text."""
    content = msgspec.json.encode(page.data)
    return base64.b64encode(gzip.compress(content, compresslevel=6, mtime=0)).decode("ascii")


@functools.cache
def _scripts(kind: str) -> tuple[str, ...]:
    own = (_asset("scripts", f"{name}.js") for name in SCRIPTS[kind])
    return (*(_asset("vendor", name) for name in LIBRARIES), *own)


@functools.cache
def _asset(folder: str, name: str) -> str:
    return resources.files(__package__).joinpath(folder).joinpath(name).read_text(encoding="utf-8")


def _source_hash(script: str) -> str:
    """Returns what a policy calls a script that may run: the hash of all that stands between its tags."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode('ascii')}'"


@functools.cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(lambda wanted: _asset("templates", wanted)),
    )
    environment.filters["number"] = number
    environment.filters["signed"] = signed
    environment.filters["parts"] = parts
    return environment.get_template(name)


def number(value: float | None) -> str:
    """Returns a value with its decimals, and a dash where there is none."""
    return "–" if value is None else numbers.fixed(value)


def signed(value: float | None) -> str:
    """Returns a difference with its decimals and its sign, which 0 has not, and a dash where there is none."""
    return numbers.signed(value).replace("-", "−")


def parts(text: str) -> list[str]:
    """Returns the parts between which a name may be broken: behind its dots, underscores and equals signs."""
    return re.split(r"(?<=[._=])(?=.)", text)
