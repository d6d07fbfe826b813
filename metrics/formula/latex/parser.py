"""Reads LaTeX mathematics in KaTeX's grammar and prints it again in one spelling.

Arguments come out braced, a subscript before its superscript, infix fractions as prefix ones, text as letters, and
every environment of rows as an array. The parser prints while it reads; there is no tree.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import commands
from .array_printer import alignments, array
from .cursor import END_OF_INPUT, TokenCursor, Unparsable
from .tokens import BLANK, group_end, split
from .vocabulary import COMMANDS

DEEPEST = 120
"""Groups and commands within each other; Python's own stack is not much deeper."""

_ENDS = frozenset({"}", "\\end", "\\right", "&", "\\\\", "\\cr", "\\middle"})
_NOT_PLAIN = frozenset({BLANK, "\\", "{", "}", "&", "^", "_", "'"})
_SCRIPTS = frozenset({"^", "_", "'", "\\limits", "\\nolimits", "\\displaylimits"})


@dataclass(slots=True)
class _Piece:
    """Printed tokens of one nucleus; `group` says that they come in braces already."""

    tokens: list[str]
    group: bool = False

    def braced(self) -> list[str]:
        return self.tokens if self.group else ["{", *self.tokens, "}"]


def normal_tokens(text: str, last_script: bool = False) -> list[str]:
    """Returns the tokens of a formula in the one spelling.

    Where a nucleus has two scripts of a kind, the second one gets an empty nucleus of its own, as TeX sets it; with
    `last_script` only the last one is kept, as the released CDM tool does.

    Raises Unparsable where the text is not in the grammar.
    """
    reader = _Reader(split(text), last_script)
    tokens = reader.expression()
    if reader.peek() != END_OF_INPUT:
        raise Unparsable(f"unexpected {reader.peek()}")
    return tokens


class _Reader(TokenCursor):
    def __init__(self, tokens: list[str], last_script: bool) -> None:
        super().__init__(tokens)
        self._last_script = last_script
        self._depth = 0
        self._roman = False

    def expression(self, closing: str = "") -> list[str]:
        """Reads up to what ends an expression, or up to `closing`, and leaves that unread."""
        tokens: list[str] = []
        infix: str | None = None
        numerator: list[str] = []
        while True:
            token = self.peek()
            if token == closing:
                break
            if len(token) == 1 and token not in _NOT_PLAIN and self._depth < DEEPEST:
                self._at += 1
                tokens.append(token)
                if not self.in_text and self.peek() in _SCRIPTS:
                    tokens += self._scripts()
                continue
            if token in _ENDS or token == END_OF_INPUT:
                break
            if token in commands.INFIXES:
                if infix is not None:
                    raise Unparsable("only one infix operator a group")
                infix = commands.INFIXES[self.take()]
                if token == "\\above":
                    self.with_length(token)
                numerator, tokens = tokens, []
                continue
            tokens += self._atom()
        if infix is None:
            return tokens
        return [infix, *_grouped(numerator), *_grouped(tokens)]

    def _atom(self) -> list[str]:
        """A nucleus with its scripts."""
        token = self.peek()
        if token in {"^", "_", "'"} and not self.in_text:
            tokens: list[str] = []
        else:
            tokens = self._nucleus().tokens
        return tokens if self.in_text else tokens + self._scripts()

    def _scripts(self) -> list[str]:
        before: list[str] = []
        upper: list[str] | None = None
        lower: list[str] | None = None
        only_primes = False
        while True:
            token = self.peek()
            if token in {"\\limits", "\\nolimits", "\\displaylimits"}:
                self.take()
                continue
            if token not in {"^", "_", "'"}:
                return before + _printed_scripts(lower, upper)
            self.take()
            script = self._primes() if token == "'" else self._argument().braced()
            doubled = (lower if token == "_" else upper) is not None and not self._last_script
            if doubled and token == "^" and upper and only_primes:
                script = [*upper[:-1], *script[1:]]
            elif doubled:
                before += [*_printed_scripts(lower, upper), "{", "}"]
                upper = lower = None
            if token == "_":
                lower, only_primes = script, False
            else:
                upper, only_primes = script, token == "'"

    def _primes(self) -> list[str]:
        """The primes from the one that has been read on, as a superscript."""
        primes = ["\\prime"]
        while self.peek() == "'":
            self.take()
            primes.append("\\prime")
        return ["{", *primes, "}"]

    def _argument(self) -> _Piece:
        """One argument: a group, or a single command or character with its own arguments."""
        token = self.peek()
        if token == "}":
            return _Piece([self.take()])
        if token in _ENDS or token in {END_OF_INPUT, "^", "_", "'"}:
            raise Unparsable("expected an argument")
        return self._nucleus()

    def _group(self) -> list[str]:
        """A group in braces; the brace is the next token."""
        self.take()
        body = self.expression()
        self.expect("}")
        return ["{", *body, "}"]

    def _optional(self) -> list[str] | None:
        if self.peek() != "[":
            return None
        self.take()
        body = self.expression(closing="]")
        self.expect("]")
        return ["[", *body, "]"]

    def _up_to(self, delimiter: str) -> list[str]:
        """What comes before the command that delimits it, such as the index of \\root 3 \\of x."""
        body = self.expression(closing=delimiter)
        self.expect(delimiter)
        return body

    def _stacked_rows(self) -> list[str]:
        """The argument of \\substack in braces: rows between line breaks."""
        self.expect("{")
        tokens = ["{", *self.expression()]
        while self.peek() in {"\\\\", "\\cr"}:
            self.take()
            self.skip_row_gap()
            tokens += ["\\\\", *self.expression()]
        self.expect("}")
        return [*tokens, "}"]

    def _nucleus(self) -> _Piece:
        """A group, a character, or a command with its arguments."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise Unparsable(f"nested more than {DEEPEST} deep")
        piece = self._one_nucleus()
        self._depth -= 1
        return piece

    def _one_nucleus(self) -> _Piece:
        token = self.peek()
        if token == "{":
            return _Piece(self._group(), group=True)
        self.take()
        if token == BLANK or token == "\\ ":
            return _Piece(["~" if token == BLANK else "\\ "])
        if not token.startswith("\\"):
            return _Piece([token])
        return self._command(token)

    def _command(self, token: str) -> _Piece:
        if token in commands.FRACTIONS:
            if token == "\\cfrac":
                self.skip_position()
            return _Piece([commands.FRACTIONS[token], *self._argument().braced(), *self._argument().braced()])
        if token in commands.STACKS:
            return _Piece([token, *self._argument().braced(), *self._argument().braced()])
        if token in commands.OPTIONAL_THEN_ONE:
            return _Piece([token, *(self._optional() or []), *self._argument().braced()])
        if token in commands.LAPS:
            return _Piece([commands.LAPS[token], *self._argument().braced()])
        if token in commands.MARKS or token in commands.PHANTOMS:
            return _Piece([token, *self._argument().braced()])
        if token in commands.TEXTS:
            return _Piece(["\\mathrm", *self._text().braced()])
        if token in commands.FONTS:
            return self._font(commands.FONTS[token])
        if token in commands.CLASSES:
            return self._class(token)
        if token in commands.ROWS:
            return _Piece([token, *self._stacked_rows()])
        return self._special(token)

    def _special(self, token: str) -> _Piece:
        if token == "\\left":
            return _Piece(self._left_right())
        if token == "\\begin":
            return _Piece(self._environment())
        if token == "\\root":
            index = self._up_to("\\of")
            return _Piece(["\\sqrt", "[", *index, "]", *self._argument().braced()])
        if token == "\\buildrel":
            upper = self._up_to("\\over")
            return _Piece(["\\stackrel", "{", *upper, "}", *self._argument().braced()])
        if token in commands.SIZED:
            return _Piece([token + self.delimiter()])
        if token == "\\rm":
            return self._switch_to_roman()
        if self._roman and (token in commands.LETTERS or token[1:] not in COMMANDS) and token[1:].isalpha():
            return _Piece(["\\ ", *token[1:]])
        if token in commands.LIMIT_OPERATORS:
            return _Piece(["\\operatorname", "{", *token[1:], "}"])
        if token in commands.COLOURS:
            self.skip_colour()
            return _Piece([])
        if token in commands.SKIPS or token in commands.KERNS:
            return _Piece([self.with_length(token)])
        if token in {"\\[", "\\]", "\\(", "\\)"}:
            return _Piece([])
        return _Piece([token])

    def _class(self, token: str) -> _Piece:
        """A command such as \\mathop that sets the class of its argument; \\operatorname* loses its star."""
        if token == "\\smash":
            self.skip_position()
        if token == "\\operatorname" and self.peek() == "*":
            self.take()
            return _Piece([token, *self._argument().braced()])
        argument = self._argument().braced()
        name = "".join(argument[1:-1])
        if token == "\\operatorname" and name in commands.RESTORED:
            return _Piece(["\\" + name])
        return _Piece([token, *argument])

    def _font(self, font: str) -> _Piece:
        """A font command with its argument; under \\mathrm a Greek letter is spelled, as the released tool does."""
        outer, self._roman = self._roman, font == "\\mathrm"
        argument = self._argument().braced()
        self._roman = outer
        return _Piece([font, *argument])

    def _switch_to_roman(self) -> _Piece:
        outer, self._roman = self._roman, True
        body = self.expression()
        self._roman = outer
        return _Piece(["\\mathrm", "{", *body, "}"])

    def _text(self) -> _Piece:
        """The argument of a text command, in which a blank is a blank."""
        self.peek()
        outer, self.in_text = self.in_text, True
        try:
            return self._argument()
        finally:
            self.in_text = outer

    def _left_right(self) -> list[str]:
        tokens = ["\\left" + self.delimiter(), *self.expression()]
        while self.peek() == "\\middle":
            self.take()
            tokens += ["\\middle" + self.delimiter(), *self.expression()]
        self.expect("\\right")
        return [*tokens, "\\right" + self.delimiter()]

    def _environment(self) -> list[str]:
        given = "".join(self.raw_group())
        name = given.removesuffix("*")
        if name not in commands.ARRAYS and name not in commands.DELIMITED:
            raise Unparsable(f"no environment {name[:40]}")
        alignment = self.option() if name in commands.MATRICES and given != name else ""
        self.skip_position()
        columns = alignments(self.raw_group()) if name in commands.ARRAYS else None
        rows = self._rows()
        if alignment in {"l", "c", "r"}:
            columns = alignment * max(map(len, rows))
        self.expect("\\end")
        if "".join(self.raw_group()).removesuffix("*") != name:
            raise Unparsable(f"expected \\end{{{name}}}")
        return array(name, columns, rows)

    def _rows(self) -> list[list[list[str]]]:
        rows: list[list[list[str]]] = [[]]
        while True:
            rows[-1].append(self.expression())
            token = self.peek()
            if token == "&":
                self.take()
            elif token in {"\\\\", "\\cr"}:
                self.take()
                self.skip_row_gap()
                rows.append([])
            elif token == "\\end":
                return rows
            else:
                raise Unparsable("expected & or \\\\ or \\end")


def _printed_scripts(lower: list[str] | None, upper: list[str] | None) -> list[str]:
    return [*(["_", *lower] if lower else []), *(["^", *upper] if upper else [])]


def _grouped(tokens: list[str]) -> list[str]:
    """The tokens in braces; one group alone keeps its own."""
    if len(tokens) > 1 and tokens[0] == "{" and group_end(tokens, 0) == len(tokens) - 1:
        return tokens
    return ["{", *tokens, "}"]
