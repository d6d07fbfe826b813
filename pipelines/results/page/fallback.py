"""A page that says why there is no page: no result is lost for its page."""

from __future__ import annotations

import html
import logging
from collections.abc import Callable
from typing import NamedTuple

from ....metrics.common.errors import explain
from ....transforms.records import writable

_log = logging.getLogger(__name__)
_NO_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>beamscore</title></head>
<body><h1>This page could not be made</h1><p>{reason}</p>
<p>The files beside it have the result: {others}.</p></body></html>
"""


class MadePage(NamedTuple):
    """A page, and why it is not the one that was asked for; None where it is."""

    content: bytes
    problem: str | None = None


def page_or_reason(make: Callable[[], bytes], name: str, others: str) -> MadePage:
    """Returns the page that `make` makes; where that fails, a page that says why.

    name: of the page, for the log. others: the files that have the same result.
    """
    try:
        return MadePage(make())
    except Exception as error:  # noqa: BLE001 - the result is there, and must be published
        _log.exception("%s could not be made", name)
        problem = f"{type(error).__name__}: {explain(error)}"
        page = _NO_PAGE.format(reason=html.escape(problem), others=others)
        return MadePage(page.encode("utf-8", "replace"), writable(problem))
