"""What all tests share: the toy benchmark is registered, and hypothesis does not judge a slow machine."""

from __future__ import annotations

from hypothesis import settings

from tests import toy

toy.register()
settings.register_profile("beamscore", deadline=None)
settings.load_profile("beamscore")
