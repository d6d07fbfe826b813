"""Which tokens look the same though they are written differently."""

from __future__ import annotations

from functools import lru_cache

_SAME = {
    **dict.fromkeys(("\\dot", "\\Dot", "\\cdot", "\\cdotp", "\\ldotp"), "."),
    **dict.fromkeys(("\\mid", "\\vert", "\\lvert", "\\rvert"), "|"),
    **dict.fromkeys(("\\parallel", "\\Vert", "\\lVert", "\\rVert"), "\\|"),
    "\\rightarrow": "\\to",
    "\\top": "T",
    "\\prime": "'",
    "\\ast": "*",
    "\\left<": "\\langle",
    "\\right>": "\\rangle",
    "\\lbrace": "\\{",
    "\\rbrace": "\\}",
    "\\lbrack": "[",
    "\\rbrack": "]",
    "\\slash": "/",
    "\\leq": "\\le",
    "\\geq": "\\ge",
    "\\neq": "\\ne",
    "\\colon": ":",
    "\\neg": "\\lnot",
    "\\dag": "\\dagger",
    "\\ddag": "\\ddagger",
    "\\Tilde": "\\tilde",
    "\\Ddot": "\\ddot",
    "\\Bar": "\\bar",
    "\\Vec": "\\vec",
    "\\Hat": "\\hat",
    "\\Check": "\\check",
    "\\Breve": "\\breve",
    "\\Acute": "\\acute",
    "\\textless": "<",
    "\\textlangle": "<",
    "\\textgreater": ">",
    "\\textrangle": ">",
    "\\textunderscore": "_",
}
_NOT_DELIMITERS = ("arrow", "<", ">", "harpoon")


@lru_cache(maxsize=4096)
def look(token: str) -> str:
    """Returns one name for all tokens that look like `token`.

    A delimiter loses its \\left, \\right or \\big..\\Bigg; symbols with several names get one; \\wideX and \\varX
    are \\X. Two tokens are equivalent where `look` is equal.
    """
    if token.startswith(("\\left", "\\right")) and not any(word in token for word in _NOT_DELIMITERS):
        token = token.replace("\\left", "").replace("\\right", "")
    if token.startswith(("\\big", "\\Big")) and not token[4:].isalpha():
        token = "\\" + token[4:].rpartition("\\")[2] if "\\" in token[4:] else token[-1]
    token = _SAME.get(token, token)
    for prefix in ("\\wide", "\\var", "\\string"):
        if token.startswith(prefix) and len(token) > len(prefix):
            return token[1:].removeprefix(prefix[1:]) if prefix == "\\string" else "\\" + token[len(prefix) :]
    return token
