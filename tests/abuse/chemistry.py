"""The worst lines of chemistry within `max_characters`: deep, repeated, ambiguous, alike."""

from collections.abc import Iterator

from tests.abuse.run import Case

OPTIONS: list[dict[str, str]] = [{}, {"protocol": "released"}]
LENGTH = 100_000
"""The default of `max_characters`."""


def filled(piece: str, before: str = "", after: str = "") -> str:
    """`piece` as often as it fits into a line."""
    return before + piece * ((LENGTH - len(before) - len(after)) // len(piece)) + after


def stars(count: int) -> str:
    """Bonds in one direction from one atom."""
    return "\\chemfig { A " + "branch( -[:0] B branch) " * count + "}"


def chain(count: int, kinds: str = "-", period: int = 7) -> str:
    """A long chain in which most atoms look alike."""
    bonds = (f"{kinds[n % len(kinds)]}[:{30 if n % 2 else 330}]" for n in range(count))
    return "\\chemfig { " + " ".join(f"{bond} C" if n % period == 0 else bond for n, bond in enumerate(bonds)) + " }"


def ladder(count: int, last: str) -> str:
    """Rings joined side by side, all corners alike but the last."""
    marks = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    rungs = " ".join(
        f"?[{marks[n % 26]}] branch( -[:90] -[:0] branch) -[:0] branch( -[:90] ?[{marks[n % 26]},{{-}}] branch)"
        for n in range(count)
    )
    return f"\\chemfig {{ {rungs} -[:0] {last} }}"


def circles(count: int) -> str:
    """Circles in a grid of atoms, round which there are many ways."""
    rows = " ".join("branch( " + "-[:0,0.1] " * count + "branch) -[:90,0.1]" for _ in range(count))
    return f"\\chemfig {{ A branch( -:[:45] \\circle branch) {rows} }}"


SIDES: dict[str, str] = {
    "definitions that do not end": filled("\\definesubmol{a}{"),
    "definitions with long names": filled("\\definesubmol{", after="x"),
    "regions that do not begin": filled("\\chemfig "),
    "regions that do not end": filled("\\chemfig{"),
    "regions within each other": filled("\\chemfig{")[: LENGTH // 2] + "}" * (LENGTH // 2),
    "small regions": filled("\\chemfig { A -[:90] B } "),
    "arguments of arguments": "\\definesubmol{a}9{" + "#1" * 20_000 + "}\\chemfig{-!{a}{" + "A" * 50_000 + "}}",
    "submolecules": "\\definesubmol{a}{" + "A-" * 500 + "}" + filled("!{a}", "\\chemfig{")[:40_000] + "}",
    "arithmetic": "\\chemfig{A" + "-[:" + "(" * 25 + "1" + ")" * 25 + "]B" * 1500 + "}",
    "angles in sums": filled("-[:1+1+1]", "\\chemfig{A", "}"),
    "raw rings": filled("**6(------)-", "\\chemfig{", "}"),
    "bonds in a long style": filled("-", "\\chemfig{[,,,," + "x " * 25_000 + "]", "}"),
    "large rings": filled("*500(" + "-" * 500 + ")", "\\chemfig{A", "}"),
    "atoms at one place": filled("A-[,0]", "\\chemfig{", "B}"),
    "atoms near each other": filled("-[:90,.0001]", "\\chemfig{A", "}"),
    "braces": "{" * (LENGTH // 2) + "}" * (LENGTH // 2),
    "braces that do not end": "\\chemfig{A" + "{" * (LENGTH - 20),
    "charges": filled("\\charge[", "\\chemfig{A-[2]B}"),
    "stacks": "\\chemfig{A-[2]B}" + "\\overset{a}{x" * 50 + "}" * 50,
    "scripts": filled("^{a}_{b}", "\\chemfig{A-[2]B}"),
    "full-width characters": filled("Ａ", "\\chemfig{A-[2]B}"),
    "levels": filled("branch( ", "\\chemfig { A ", "}"),
    "hooks": filled("?[a,{-}] ", "\\chemfig { A ?[a] -[:90] B ", "}"),
    "blanks before the name of a hook": filled(" ", "\\chemfig{A?[", "{}]}"),
    "blanks in a hook": filled(" ", "\\chemfig{A?[a,", "[]]}"),
    "text": filled("a ", "\\chemfig { A -[:90] ", "}"),
    "brackets in a bond": "\\chemfig { A -" + "[" * (LENGTH - 40) + " branch( }",
    "blanks in a bond": filled(" ", "\\chemfig { A -[", "}"),
    "numbers in a bond": filled("1 ,", "\\chemfig { A -[:", "] branch( }").replace(" ,", ","),
    "a long number": filled("9", "\\chemfig { A -[:", "] branch( }"),
}
"""Lines that take long to read."""


def pairs() -> Iterator[tuple[str, str, str]]:
    """Lines that take long to compare, each with the other."""
    for count in (600, 9_000):
        yield f"chains of {count}", chain(count), chain(count, period=5)
        yield f"chains of {count} that differ at the end", chain(count, "-="), chain(count - 1, "-=") + " "
    for count in (8, 500, 4_000):
        yield f"stars of {count} and another", stars(count), stars(count).replace("B", "C", 1)
    for count in (50, 1_000):
        yield f"ladders of {count}", ladder(count, "O"), ladder(count, "N")
        yield f"ladders of {count} from either end", ladder(count, "O"), ladder(count, "O").replace("90", "270")
    for count in (6, 60):
        yield f"grids of {count}", circles(count), circles(count)
    letters = filled("a b c d e f g h ")
    yield "texts", letters, letters[::-1]
    atoms = " ".join(f"-[:{n % 360}] " + " ".join(f"{n:08b}" * 5) for n in range(900))
    yield "many texts", f"\\chemfig {{ {atoms} }}", f"\\chemfig {{ {atoms} }}".replace("1 0", "0 1")


def cases() -> Iterator[Case]:
    usual = {"text": "2 \\chemfig { A -[:90.0,1.0] B } + \\chemfig{**6(------)}"}
    for name, text in SIDES.items():
        yield Case(f"{name}, predicted", usual, {"text": text})
        yield Case(f"{name}, on both sides", {"text": text}, {"text": text})
    for name, truth, prediction in pairs():
        yield Case(name, {"text": truth}, {"text": prediction})
