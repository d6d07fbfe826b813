from __future__ import annotations

from collections.abc import Sequence

import pytest

from beamscore.pipelines.reports import render as rendering
from beamscore.pipelines.reports.document import Document


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> list[Document]:
    """The pages that are made."""
    made: list[Document] = []
    render = rendering.render

    def keep(pages: Sequence[Document]) -> bytes:
        made.extend(pages)
        return render(pages)

    monkeypatch.setattr(rendering, "render", keep)
    return made
