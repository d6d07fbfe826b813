"""The token stream of the macro expander: LaTeX tokens that can be read, taken back and put in front."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import Any, NamedTuple

from ...common.budget import Budget
from .verbatim import COMMANDS, Verbatim

MAX_RUN = 64
"""Plain text is read in runs of at most this many characters, so that taking one off costs little."""

_STEPS_OF_TOKEN = 2

_TOKEN = re.compile(rf"\\(?:[A-Za-z@]+|.)|[{{}}#]|[^\\{{}}#]{{1,{MAX_RUN}}}|\\", re.DOTALL)


class Call(NamedTuple):
    """A macro call under expansion, and the one whose expansion made it."""

    macro: Any
    parent: Call | None
    depth: int


class Token(NamedTuple):
    """A command, a brace, a `#` or a run of plain text; or, whole, a verbatim stretch.

    origin: where it is in the source; for what a macro made, where the outermost call is.
    call: the macro call whose body it is from; None where it was written in the source.
    """

    text: str
    origin: int
    call: Call | None


def is_command(text: str) -> bool:
    """Whether a token's text is a command that a definition may name."""
    return text[0] == "\\" and (len(text) == 2 or text[1:].replace("@", "a").isalpha())


class TokenReader:
    """Reads the tokens of a text, and those that were put in front of it.

    `begin` starts an attempt to read a construct; `backtrack` takes back what `read` and its kin have read since.
    Each token that is read costs two steps of the budget.
    """

    def __init__(self, text: str, budget: Budget) -> None:
        self._text = text
        self._verbatim = Verbatim(text)
        self._position = 0
        self._front: list[Token] = []
        self._attempt: list[Token] = []
        self._unclosed: frozenset[int] | None = None
        self._budget = budget

    def begin(self) -> None:
        """Starts an attempt to read a construct."""
        self._attempt = []

    def backtrack(self) -> None:
        """Takes back all that was read since `begin`."""
        self._front.extend(reversed(self._attempt))
        self._attempt = []

    def unread(self, token: Token | None) -> None:
        """Takes back `token`, the last that was read in this attempt; None, the end, needs no taking back."""
        if token is not None:
            self._front.append(self._attempt.pop())

    def put_in_front(self, tokens: Sequence[Token]) -> None:
        """Makes `tokens` the next to be read."""
        self._front.extend(reversed(tokens))

    def charge(self, steps: int) -> None:
        """Counts work that is not reading among the steps."""
        self._budget.spend(steps)

    def read(self) -> Token | None:
        """Reads the next token; None at the end."""
        token = self.next_token()
        if token is not None:
            self._attempt.append(token)
        return token

    def read_character(self) -> Token | None:
        """Reads the next token, of a run of plain text its first character alone; None at the end."""
        token = self.next_token()
        if token is None:
            return None
        text = token.text
        if len(text) > 1 and text[0] != "\\":
            self._front.append(Token(text[1:], token.origin + (token.call is None), token.call))
            token = Token(text[0], token.origin, token.call)
        self._attempt.append(token)
        return token

    def read_visible(self) -> Token | None:
        """Reads up to the next token or character that is not blank and returns it; None at the end."""
        token = self.read_character()
        while token is not None and token.text.isspace():
            token = self.read_character()
        return token

    def read_group(self, opening: Token) -> list[Token] | None:
        """Reads up to the brace that closes `opening`, which has been read, and returns what is between.

        None where the brace is never closed.
        """
        if self._unclosed is not None and opening.call is None and opening.origin in self._unclosed:
            return None
        group: list[Token] = []
        depth = 1
        while (token := self.read()) is not None:
            if token.text == "{":
                depth += 1
            elif token.text == "}":
                depth -= 1
                if depth == 0:
                    return group
            group.append(token)
        if self._unclosed is None:
            self._unclosed = self._unclosed_braces()
        return None

    def read_plain(self, stops: Container[str], macros: Container[str]) -> tuple[str, int, str]:
        """Reads for good all up to the next token that is in `stops` or `macros`, where nothing was put in front.

        It costs no steps: what writes it is charged.

        Returns what was read, where it is and its last token; "" where nothing was.
        """
        if self._front:
            return "", self._position, ""
        text, match = self._text, _TOKEN.match
        start = position = self._position
        last = ""
        while found := match(text, position):
            token = found.group()
            if token in stops or token in macros:
                break
            last = token
            position = found.end()
        self._position = position
        return text[start:position], start, last

    def next_token(self) -> Token | None:
        """Reads the next token for good, outside any attempt; None at the end."""
        self._budget.spend(_STEPS_OF_TOKEN)
        if self._front:
            return self._front.pop()
        start = self._position
        if start >= len(self._text):
            return None
        self._position = end = self._end_of_token(start)
        return Token(self._text[start:end], start, None)

    def _end_of_token(self, start: int) -> int:
        match = _TOKEN.match(self._text, start)
        assert match is not None  # the pattern takes any character
        if match.group() in COMMANDS:
            return self._verbatim.end(start) or match.end()
        return match.end()

    def _unclosed_braces(self) -> frozenset[int]:
        """The places of the opening braces that are never closed."""
        open_braces: list[int] = []
        position = 0
        while position < len(self._text):
            end = self._end_of_token(position)
            if self._text[position] == "{":
                open_braces.append(position)
            elif self._text[position] == "}" and open_braces:
                open_braces.pop()
            position = end
        return frozenset(open_braces)
