"""What all tests share: the toy benchmark is registered, and hypothesis does not judge a slow machine.

The profile `mutants` is for runs by the hundreds: the same few examples each time, and none made smaller.
"""

from __future__ import annotations

from hypothesis import Phase, settings

from tests import toy

toy.register()
settings.register_profile("beamscore", deadline=None)
settings.register_profile(
    "mutants",
    deadline=None,
    max_examples=30,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile("beamscore")
