"""How often a law is tried."""

from hypothesis import settings


def tries(count: int) -> settings:
    """Returns settings with `count` examples, times what the profile has for each of hypothesis' own 100."""
    return settings(max_examples=count * settings().max_examples // 100)
