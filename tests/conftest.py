"""What all tests share: the toy benchmark is registered, and hypothesis does not judge a slow machine.

Laws are tried on the same examples each time, so that no change fails by luck: `make laws` tries ten times as many, and
others each time. The profile `mutants` makes no example smaller, as only one that fails counts.
"""

from pathlib import Path

import pytest
from hypothesis import Phase, settings

from tests import toy

ROOT = Path(__file__).parents[1]

toy.register()
settings.register_profile("beamscore", deadline=None, derandomize=True)
settings.register_profile("laws", deadline=None, max_examples=1000)
settings.register_profile("mutants", deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate))
settings.load_profile("beamscore")


class RootFolder:
    """Makes the folder of the repository a plain folder for pytest, which would import it by whatever name it has."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        return pytest.Dir.from_parent(parent, path=path) if path == ROOT else None


def pytest_configure(config: pytest.Config) -> None:
    # The hooks of this file alone would not be asked about the folder above it.
    config.pluginmanager.register(RootFolder())
