"""CDM of a pair of formulas: tokens are assigned at minimum cost, and geometrically inconsistent matches are dropped.

RANSAC finds the consistent matches, under a model with one scale and one translation. The model of a sample of two
matches maps a point p of the ground truth to s (p - m) + m + t, where m is the mean of all points, t the translation
between the two centers of the sample, and s the ratio of their spreads. The random generator has a fixed seed, so equal
input leads to equal matches.

Source: B. Wang et al., "Image Over Text: Transforming Formula Recognition Evaluation with Character Detection
Matching", CVPR 2025, sections 4.2 and 4.3, and the released tool, which calls scikit-image's `ransac` (M. Fischler and
R. Bolles, CACM 24(6), 1981).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..latex.commands import ACCENTS
from ..render.boxes import Boxes

TOKEN_WEIGHT = 1.0
POSITION_WEIGHT = 0.05
ORDER_WEIGHT = 0.15
EQUIVALENT_COST = 0.005
ROUNDS = 5
SAMPLE = 2
RESIDUAL = 20.0
TRIALS = 50
SEED = 42
_TINY = 1e-10
_EPSILON = float(np.spacing(1.0))

_ALIKE = r"""
    .       \dot \Dot \cdot \cdotp \ldotp
    |       \mid \vert \lvert \rvert
    \|      \parallel \Vert \lVert \rVert
    \to     \rightarrow
    T       \top
    '       \prime
    *       \ast
    \langle \left<
    \rangle \right>
    \{      \lbrace
    \}      \rbrace
    [       \lbrack
    ]       \rbrack
    /       \slash
    \le     \leq
    \ge     \geq
    \ne     \neq
    :       \colon
    \lnot   \neg
    \dagger \dag
    \ddagger \ddag
    <       \textless \textlangle
    >       \textgreater \textrangle
    _       \textunderscore
"""
"""One class per line: tokens that look the same; the first one names the class."""
_SAME = {token: first for first, *others in map(str.split, _ALIKE.strip().splitlines()) for token in others}
_SAME |= {f"\\{name.title()}": f"\\{name}" for name in ("tilde", "ddot", "bar", "vec")}
_SIZE = re.compile(r"\\(?:left|right|middle|[bB]igg?[lmr]?)(?![a-zA-Z])")
_ANGLES = {"<": "\\langle", ">": "\\rangle"}
_NOT_DELIMITERS = ("arrow", "<", ">", "harpoon")
"""Parts of tokens from which the released tool does not strip \\left and \\right."""


@dataclass(frozen=True, slots=True)
class Matches:
    """The true matches of a pair as (index in the ground truth, index in the prediction), and both token counts."""

    pairs: tuple[tuple[int, int], ...]
    truth_count: int
    prediction_count: int

    @property
    def cdm(self) -> float:
        """The F1 score, 2 TP / (truth tokens + predicted tokens); 0 if nothing matches."""
        return 2 * len(self.pairs) / (self.truth_count + self.prediction_count) if self.pairs else 0.0


def match(truth: Boxes, prediction: Boxes, released: bool = False) -> Matches:
    """Returns the true matches between the tokens of two formulas; none if a side is empty.

    Tokens are assigned one to one at minimum cost (token, position and order). A match is true if it is geometrically
    consistent with the others and its two tokens look the same, if `released` to the released tool.
    """
    if not len(truth) or not len(prediction):
        return Matches((), len(truth), len(prediction))
    if truth is prediction:
        # The identity costs 0, any other assignment costs more because of the order, and all positions are equal.
        return Matches(tuple((index, index) for index in range(len(truth))), len(truth), len(prediction))
    token_cost = _token_cost(truth.tokens, prediction.tokens, released)
    # Not at the top: SciPy takes half a second to import, which `beamscore benchmarks` need not wait for.
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(assignment_cost(truth, prediction, token_cost))
    centers = [(side.boxes[:, :2] + side.boxes[:, 2:]) / 2 for side in (truth, prediction)]
    true = consistent(centers[0][rows], centers[1][columns]) & (token_cost[rows, columns] < 1)
    pairs = tuple(zip(rows[true].tolist(), columns[true].tolist(), strict=True))
    return Matches(pairs, len(truth), len(prediction))


def _token_cost(truth: tuple[str, ...], prediction: tuple[str, ...], released: bool) -> NDArray[np.float64]:
    """Returns the token costs [G, P]: 0 for equal tokens, 0.005 for tokens that look the same, else 1."""
    cost = np.ones((len(truth), len(prediction)))
    looks = tuple([visual_class(token, released) for token in side] for side in (truth, prediction))
    for value, sides in ((EQUIVALENT_COST, looks), (0.0, (truth, prediction))):
        numbers: dict[str, int] = {}
        left, right = ([numbers.setdefault(name, len(numbers)) for name in side] for side in sides)
        cost[np.array(left)[:, None] == np.array(right)[None]] = value
    return cost


def assignment_cost(truth: Boxes, prediction: Boxes, token_cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the cost [G, P] of assigning each token of the ground truth to each predicted token.

    The cost is a weighted sum of the token cost, the position cost (the mean absolute difference of the box
    coordinates, relative to the size of their own image) and the order cost (the absolute difference of the indices,
    relative to the longer length). Swapped neighbors often lead to equal costs, and then rounding decides: indices are
    divided before they are subtracted, as in the released tool.
    """
    left, right = (side.boxes / np.tile(side.size, 2) for side in (truth, prediction))
    position = np.zeros_like(token_cost)
    for side in range(4):
        position += np.abs(left[:, side, None] - right[None, :, side])
    longer = max(token_cost.shape)
    shares = np.arange(longer) / longer
    order = np.abs(shares[: len(truth), None] - shares[None, : len(prediction)])
    cost: NDArray[np.float64] = TOKEN_WEIGHT * token_cost + POSITION_WEIGHT * (position / 4) + ORDER_WEIGHT * order
    return cost


@lru_cache(maxsize=4096)
def visual_class(token: str, released: bool) -> str:
    """Returns the name that all tokens with the look of `token` share: two tokens look the same if it is equal.

    Strips \\left, \\right, \\middle and \\big..\\Bigg from delimiters, replaces aliases of a symbol by one name, and
    \\wideX and \\varX by \\X, and accents such as \\Hat by \\hat. If `released`, \\middle stays, and so do \\left and
    \\right before < > and arrows, and all but four accents; \\big... is its last letter, also in \\bigcup.
    """
    if not released:
        token = token.lower() if token in ACCENTS else token
        if size := _SIZE.match(token):
            token = _ANGLES.get(token[size.end() :], token[size.end() :])
    elif token.startswith(("\\big", "\\Big")):
        token = "\\" + token[4:].rpartition("\\")[2] if "\\" in token[4:] else token[-1]
    elif token.startswith(("\\left", "\\right")) and not any(word in token for word in _NOT_DELIMITERS):
        token = token.replace("\\left", "").replace("\\right", "")
    token = _SAME.get(token, token)
    for prefix in ("\\wide", "\\var", "\\string"):
        if token.startswith(prefix) and len(token) > len(prefix):
            return token[1:].removeprefix(prefix[1:]) if prefix == "\\string" else "\\" + token[len(prefix) :]
    return token


def consistent(source: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Returns the mask [N] of the consistent matches; source, target: the centers [N, 2] of their boxes in pixels.

    Runs RANSAC up to 5 times, each time on the matches not kept so far. Keeps all of two or fewer matches, and all if
    the sides are equal: a sample of coinciding points has no scale, so RANSAC could drop some of them.
    """
    count = len(source)
    if count <= SAMPLE or np.array_equal(source, target):
        return np.ones(count, dtype=bool)
    kept = np.zeros(count, dtype=bool)
    for _ in range(ROUNDS):
        rest = np.flatnonzero(~kept)
        if len(rest) <= SAMPLE:
            break
        agreeing = _largest_agreement(source[rest], target[rest])
        if not agreeing.any():
            break
        kept[rest[agreeing]] = True
    return kept


def _largest_agreement(source: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Returns the inliers [N], within 20 pixels, of the best model: most inliers, then least squared residual."""
    count = len(source)
    residuals = _residuals(source, target, _samples(count))
    agreeing = residuals < RESIDUAL
    counts, squares = agreeing.sum(axis=1).tolist(), (residuals**2).sum(axis=1).tolist()
    best, trial, limit = 0, 0, float(TRIALS)
    while trial < limit and squares[best] > 0:
        if not trial or (counts[trial], -squares[trial]) > (counts[best], -squares[best]):
            best = trial
            limit = min(limit, _trials_needed(counts[best], count))
        trial += 1
    largest: NDArray[np.bool_] = agreeing[best]
    return largest


def _residuals(
    source: NDArray[np.float64], target: NDArray[np.float64], samples: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Returns the distances [T, N] of the transformed source points from the targets under the models of T samples."""
    sources, targets = source[samples], target[samples]
    source_centers, target_centers = sources.mean(axis=1), targets.mean(axis=1)
    source_spread = np.linalg.norm(sources - source_centers[:, None], axis=2).mean(axis=1)
    target_spread = np.linalg.norm(targets - target_centers[:, None], axis=2).mean(axis=1)
    scale = target_spread / (source_spread + _TINY)
    mean = source.mean(axis=0)
    moved = scale[:, None, None] * (source - mean)[None] + (mean + target_centers - source_centers)[:, None]
    distances: NDArray[np.float64] = np.sqrt(((moved - target[None]) ** 2).sum(axis=2))
    return distances


@lru_cache(maxsize=4096)
def _trials_needed(agreeing: int, count: int) -> float:
    """Returns how many trials draw an outlier-free sample with probability 1 - eps; infinity without inliers."""
    if not agreeing:
        return float("inf")
    miss = min(max(1 - (agreeing / count) ** SAMPLE, _EPSILON), 1 - _EPSILON)
    return float(np.ceil(np.log(_EPSILON) / np.log(miss)))


@lru_cache(maxsize=512)
def _samples(count: int) -> NDArray[np.intp]:
    """Returns the samples [50, 2]: the indices of two different matches out of `count`; read-only."""
    generator = np.random.Generator(np.random.PCG64(SEED))
    drawn = np.array([generator.choice(count, SAMPLE, replace=False) for _ in range(TRIALS)], dtype=np.intp)
    drawn.flags.writeable = False
    return drawn
