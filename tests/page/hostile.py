"""Texts that try to run, to break out of their place, or to hide what stands around them."""

from __future__ import annotations

HOSTILE = (
    "</script><script>window.harmed = 1</script>",
    "<img src=x onerror='window.harmed = 1'>",
    "<svg onload='window.harmed = 1'><a href='javascript:window.harmed = 1'>x</a></svg>",
    "javascript:window.harmed=1",
    "{{ 7 * 7 }}{% raw %}",
    "\u202ereversed\u202c \u200f\u2066\u2069",
    "\x00\x1b[31m\x07\x08",
    "&lt;b&gt;&amp;",
    "]]><!--",
    "a" * 100_000,
    "\U0001f600 e\u0301 \u0644\u063a\u0629",
)
