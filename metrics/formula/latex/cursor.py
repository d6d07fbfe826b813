"""Walks over the tokens of a formula, and reads the parts of it that have no mathematics in them."""

from __future__ import annotations

import re

from . import commands
from .tokens import BLANK

END_OF_INPUT = ""

_UNIT = r"(?:true)?(?:em|ex|pt|pc|in|bp|cm|mm|dd|cc|sp|mu)"
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)"
_BARE_LENGTH = re.compile(_NUMBER + _UNIT)
_BRACED_LENGTH = re.compile(r"\*?\{" + _NUMBER + _UNIT + r"\}")
_ROW_GAP = re.compile(r"\[" + _NUMBER + _UNIT + r"\]")


_POSITIONS = frozenset("tbclr")


class Unparsable(Exception):
    """The text is not a formula of the grammar; the message says what was expected."""


class TokenCursor:
    """The tokens of a formula and a place in them; `in_text` says whether a blank counts there."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = [*tokens, END_OF_INPUT]
        self._at = 0
        self.in_text = False

    def peek(self) -> str:
        """The next token, white space skipped outside of text; empty at the end."""
        token = self._tokens[self._at]
        while token == BLANK and not self.in_text:
            self._at += 1
            token = self._tokens[self._at]
        return token

    def take(self) -> str:
        """Reads the next token."""
        token = self.peek()
        self._at += token != END_OF_INPUT
        return token

    def expect(self, wanted: str) -> None:
        """Reads the next token.

        Raises Unparsable where it is not `wanted`.
        """
        if self.take() != wanted:
            raise Unparsable(f"expected {wanted}")

    def delimiter(self) -> str:
        """Reads what may follow \\left, \\right and \\big.

        Raises Unparsable where the next token cannot be that.
        """
        token = self.take()
        if token in {END_OF_INPUT, "{", "}", "&", "\\\\", "^", "_"}:
            raise Unparsable("expected a delimiter")
        return token

    def raw_group(self) -> list[str]:
        """Reads a group: its tokens unchanged, without its braces and blanks.

        Raises Unparsable where no group follows, or it is not closed.
        """
        self.expect("{")
        tokens: list[str] = []
        depth = 1
        while True:
            token = self.take()
            depth += (token == "{") - (token == "}")
            if token == END_OF_INPUT:
                raise Unparsable("expected }")
            if not depth:
                return tokens
            if token != BLANK:
                tokens.append(token)

    def skip_colour(self) -> None:
        """Reads the colour after a command that sets one, with its model in brackets.

        Raises Unparsable where there is none.
        """
        if self.peek() == "[":
            while self.take() not in {"]", END_OF_INPUT}:
                pass
        self.raw_group()

    def with_length(self, token: str) -> str:
        """Reads the length that may follow the command `token`, in braces if it wants it so: both as one token."""
        ahead = "".join(self._tokens[self._at : self._at + 40]).replace(BLANK, "")
        if not (_BRACED_LENGTH if token in commands.SKIPS else _BARE_LENGTH).match(ahead):
            return token
        if token in commands.SKIPS:
            star = "*" if self.peek() == "*" and self.take() else ""
            return f"{token}{star}{{{''.join(self.raw_group())}}}"
        length = ""
        while not _BARE_LENGTH.fullmatch(length):
            length += self.take().strip()
        return f"{token} {length}"

    def option(self) -> str:
        """Reads the text in brackets that may follow, without blanks; empty where none follows.

        Raises Unparsable where the bracket is not closed.
        """
        if self.peek() != "[":
            return ""
        self.take()
        text = ""
        while (token := self.take()) != "]":
            if token == END_OF_INPUT:
                raise Unparsable("expected ]")
            text += token.strip()
        return text

    def skip_position(self) -> None:
        """Skips the letter in brackets that may follow \\begin{..}, \\smash or \\cfrac: [t], [b], [c], [l], [r]."""
        ahead = [token for token in self._tokens[self._at : self._at + 6] if token != BLANK][:3]
        if len(ahead) == 3 and ahead[0] == "[" and ahead[1] in _POSITIONS and ahead[2] == "]":
            while self.take() != "]":
                pass

    def skip_row_gap(self) -> None:
        """Skips the star and the length that may follow a line break."""
        if self.peek() == "*":
            self.take()
        ahead = "".join(self._tokens[self._at : self._at + 20]).replace(BLANK, "")
        if _ROW_GAP.match(ahead):
            while self.take() != "]":
                pass
