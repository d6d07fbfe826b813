"""The assignment of tokens is the cheapest, RANSAC keeps what a plain reading of it keeps, and BLEU is sacrebleu's."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
import sacrebleu
from hypothesis import example, given, strategies as st

from beamscore.metrics.formula.cdm import matching
from beamscore.metrics.formula.cdm.bleu import bleu, bleu_counts
from beamscore.metrics.formula.cdm.matching import consistent, visual_class
from beamscore.metrics.formula.latex.commands import COMMANDS
from beamscore.metrics.formula.render.boxes import Boxes
from tests.laws import tries


def row(tokens: Sequence[str], gap: float = 30.0) -> Boxes:
    """Tokens side by side, each 20 x 20 pixels, the next `gap` further on."""
    boxes = np.array([[index * gap, 10, index * gap + 20, 30] for index in range(len(tokens))])
    return Boxes(tuple(tokens), boxes, (len(tokens) * gap, 40.0))


LOOKS = (
    r"\cdot . / : / \vert \mid | \left| \middle| \middle\vert / \Vert \parallel / \to \rightarrow / \leftarrow / a / "
    r"\leq \le / \geq / \alpha / \varphi \phi / x / X / \widehat \hat \Hat / \bar / \left( ( \big( / \Bigr) \big) ) / "
    r"\vec \Vec / \grave \Grave / \bigcup / \bigcap / p / < / ] / \bigl\{ \{ \lbrace / \left< \langle \big\langle "
    r"\Bigg\langle \middle< \bigl< / \left> \rangle / \left\uparrow \uparrow / \prime ' / , / \lbrack \left[ / "
    r"\string@ @ / \string"
)
"""Tokens that look the same, between slashes; those of different groups do not."""


def test_which_tokens_look_the_same() -> None:
    classes = [{visual_class(token, False) for token in tokens.split()} for tokens in LOOKS.split(" / ")]
    assert [len(each) for each in classes] == [1] * len(classes)
    assert len(set().union(*classes)) == len(classes)
    # The tool takes the last letter of all that begins with \big, and knows no \middle and no \Hat.
    released = {r"\bigcup": "p", r"\bigr)": ")", r"\Big\{": r"\{", r"\left<": r"\langle", r"\middle<": r"\middle<"}
    released |= {r"\Vec": r"\vec", r"\Hat": r"\Hat"}
    assert {token: visual_class(token, True) for token in released} == released


def test_the_sequence_of_fifty_samples_is_fixed() -> None:
    # NumPy does not promise the sequence for ever; scores would change with it.
    assert matching._samples(10).shape == (50, 2)
    assert matching._samples(10)[:4].tolist() == [[0, 7], [3, 4], [6, 0], [0, 5]]


def test_matches_are_consistent_in_the_centres_of_their_boxes() -> None:
    truth, kept = row("abcdefghi"), set()
    for down in range(0, 80, 4):
        moved = truth.boxes.copy()
        moved[4, 1::2] += down
        # The boxes are 20 x 20 pixels.
        mask = consistent(truth.boxes[:, :2] + 10, moved[:, :2] + 10)
        found = matching.match(truth, Boxes(truth.tokens, moved, truth.size))
        assert [index for index, _ in found.pairs] == np.flatnonzero(mask).tolist()
        kept.add(len(found.pairs))
    assert kept == {8, 9}


TOKENS = st.lists(st.sampled_from([r"\le", r"\leq", "a", "b"]), min_size=1, max_size=5)


@given(TOKENS, TOKENS, st.floats(20, 60))
@tries(80)
def test_the_cost_of_each_assignment_is_the_published_one(left: list[str], right: list[str], gap: float) -> None:
    r"""1 for other tokens, and 0.005 for those that look the same, as \le and \leq do."""
    truth, prediction = row(left), row(right, gap)
    cost = matching.assignment_cost(truth, prediction, matching._token_cost(truth.tokens, prediction.tokens, False))
    longer = max(len(truth), len(prediction))
    for (i, a), (j, b) in itertools.product(enumerate(left), enumerate(right)):
        sides = zip(truth.boxes[i], prediction.boxes[j], strict=True)
        position = sum(abs(x / truth.size[k % 2] - y / prediction.size[k % 2]) for k, (x, y) in enumerate(sides))
        token = 0 if a == b else 0.005 if {a, b} == {r"\le", r"\leq"} else 1
        assert cost[i, j] == pytest.approx(token + 0.05 * position / 4 + 0.15 * abs(i - j) / longer)


def plainly_largest_agreement(source: list[complex], target: list[complex]) -> set[int]:
    """One run of RANSAC over points of the plane: 50 trials of 2 samples, 20 pixels, or until enough were tried."""
    count, middle = len(source), sum(source) / len(source)
    best: set[int] = set()
    best_squares, trials = math.inf, 50.0
    for trial, (first, second) in enumerate(matching._samples(count).tolist()):
        if trial >= trials or best_squares <= 0:
            break
        centre, wanted = (source[first] + source[second]) / 2, (target[first] + target[second]) / 2
        scale = abs(target[first] - target[second]) / 2 / (abs(source[first] - source[second]) / 2 + 1e-10)
        moved = [scale * (point - middle) + middle + wanted - centre for point in source]
        residuals = [abs(point - goal) for point, goal in zip(moved, target, strict=True)]
        agreeing = {index for index, residual in enumerate(residuals) if residual < 20}
        squares = sum(residual**2 for residual in residuals)
        if (len(agreeing), -squares) > (len(best), -best_squares):
            best, best_squares = agreeing, squares
            if agreeing:
                miss = min(max(1 - (len(agreeing) / count) ** 2, 2.0**-52), 1 - 2.0**-52)
                trials = min(trials, math.ceil(math.log(2.0**-52) / math.log(miss)))
    return best


def plainly_consistent(source: list[complex], target: list[complex]) -> list[bool]:
    rest = list(range(len(source)))
    for _ in range(5 * (len(rest) > 2)):
        if len(rest) <= 2:
            break
        agreeing = plainly_largest_agreement([source[i] for i in rest], [target[i] for i in rest])
        rest = [index for place, index in enumerate(rest) if place not in agreeing]
    return [len(source) <= 2 or index not in rest for index in range(len(source))]


@given(st.integers(0, 2**32), st.integers(0, 24), st.sampled_from([0, 5, 15, 40]), st.sampled_from([0, 0.3, 0.8]))
# With 50 trials in any case, a later sample would give other matches here.
@example(3, 12, 5.0, 0.1)
@example(320, 12, 5.0, 0.1)
@example(1097, 12, 5.0, 0.1)
def test_a_plain_reading_keeps_the_same(seed: int, count: int, noise: float, moved: float) -> None:
    generator = np.random.default_rng(seed)
    source = generator.uniform(0, 600, (count, 2))
    target = source * generator.uniform(0.8, 1.2) + generator.normal(0, noise, (count, 2))
    target[generator.random(count) < moved] += generator.uniform(-300, 300, 2)
    target[generator.random(count) < moved / 2] = generator.uniform(0, 600, 2)
    in_the_plane = [[complex(*point) for point in side] for side in (source, target)]
    assert consistent(source, target).tolist() == plainly_consistent(*in_the_plane)


SENTENCE = st.lists(st.sampled_from("abcde"), max_size=12)


@given(st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=6))
@tries(60)
def test_added_counts_are_the_bleu_of_sacrebleu_of_a_corpus_and_of_one_sample(
    pairs: list[tuple[list[str], list[str]]],
) -> None:
    truths, predictions = ([" ".join(side) for side in sides] for sides in zip(*pairs, strict=True))
    counts = [bleu_counts(*pair) for pair in pairs]
    expected = sacrebleu.corpus_bleu(predictions, [truths], tokenize="none", force=True)
    assert bleu(*map(sum, zip(*counts, strict=True))) == pytest.approx(expected.score / 100, abs=1e-9)
    if all(pairs[0]):
        expected = sacrebleu.sentence_bleu(predictions[0], truths[:1], tokenize="none")
        assert bleu(*counts[0], every_order=False) == pytest.approx(expected.score / 100, abs=1e-9)


def test_commands_that_look_alike_are_commands() -> None:
    """Others print nothing, and so equal nothing."""
    assert {each[1:] for each in matching._ALIKE.split() if each[0] == "\\" and each[1:].isalpha()} <= COMMANDS
