"""Which commands still await an argument, so that a macro standing there without braces keeps together."""

from __future__ import annotations

_ONE = (
    "acute bar boldsymbol bm breve check ddot dot grave hat mathbb mathbf mathcal mathfrak mathit mathring mathrm "
    "mathscr mathsf mathtt operatorname overline sqrt text textbf textit textrm tilde underline vec widehat widetilde"
)
_TWO = "binom cfrac dbinom dfrac frac overset stackrel tbinom tfrac underset"

_COUNTS = {f"\\{name}": 1 for name in _ONE.split()} | {f"\\{name}": 2 for name in _TWO.split()}


class AwaitedArguments:
    """Follows written tokens and counts the arguments that the last command still awaits.

    TeX hands `\\half` to `\\frac\\half 2` whole, before it expands it. Written out without braces, only the first
    token of its body would be the argument.
    """

    def __init__(self) -> None:
        self.count = 0
        self._outer: list[int] = []

    def write(self, text: str) -> None:
        """Takes note of the next token."""
        if text == "{":
            self._outer.append(max(self.count - 1, 0))
            self.count = 0
        elif text == "}":
            self.count = self._outer.pop() if self._outer else 0
        elif text[0] == "\\":
            self.count = _COUNTS.get(text, max(self.count - 1, 0))
        elif self.count:
            visible = "".join(text.split())
            if not (visible.startswith("[") and visible.endswith("]")):
                self.count = max(self.count - len(visible), 0)
