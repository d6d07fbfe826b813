from __future__ import annotations

import math

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.formula.cdm.bleu import BleuCounts, bleu, bleu_counts

SENTENCE = st.lists(st.sampled_from("abcde"), min_size=0, max_size=12)


def added(parts: list[BleuCounts]) -> BleuCounts:
    return BleuCounts(
        tuple(sum(part.matches[order] for part in parts) for order in range(4)),
        tuple(sum(part.totals[order] for part in parts) for order in range(4)),
        sum(part.prediction_length for part in parts),
        sum(part.truth_length for part in parts),
    )


def test_the_counts_of_one_sample() -> None:
    counts = bleu_counts(list("abcd"), list("abxd"))
    # Unigrams a b d; bigram ab; no trigram and no 4-gram.
    assert counts == BleuCounts((3, 1, 0, 0), (4, 3, 2, 1), 4, 4)
    # Precisions 3/4, 1/3, then half a match in 2 and a quarter of one in 1; equal lengths.
    assert bleu(counts) == pytest.approx((3 / 4 * 1 / 3 * (1 / 2) / 2 * (1 / 4) / 1) ** (1 / 4))


def test_a_short_prediction_pays_the_brevity_penalty() -> None:
    counts = bleu_counts(list("abcdefgh"), list("abcd"))
    assert bleu(counts) == pytest.approx(math.exp(1 - 8 / 4))


def test_no_match_and_no_prediction_give_0() -> None:
    assert bleu(bleu_counts(list("abcd"), list("wxyz"))) == 0
    assert bleu(bleu_counts(list("abcd"), [])) == 0


@given(st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_added_counts_give_the_corpus_bleu_of_sacrebleu(pairs: list[tuple[list[str], list[str]]]) -> None:
    counts = added([bleu_counts(truth, prediction) for truth, prediction in pairs])
    expected = sacrebleu.corpus_bleu(
        [" ".join(prediction) for _, prediction in pairs],
        [[" ".join(truth) for truth, _ in pairs]],
        tokenize="none",
        force=True,
    )
    assert bleu(counts) == pytest.approx(expected.score / 100, abs=1e-9)


@given(SENTENCE.filter(bool), SENTENCE.filter(bool))
@settings(max_examples=60, deadline=None)
def test_the_bleu_of_one_sample_is_sacrebleus(truth: list[str], prediction: list[str]) -> None:
    expected = sacrebleu.sentence_bleu(" ".join(prediction), [" ".join(truth)], tokenize="none")
    assert bleu(bleu_counts(truth, prediction), every_order=False) == pytest.approx(expected.score / 100, abs=1e-9)
