"""BLEU of one sample and of a corpus is sacrebleu's."""

from __future__ import annotations

import math

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.formula.cdm.bleu import bleu, bleu_counts

SENTENCE = st.lists(st.sampled_from("abcde"), max_size=12)


def test_the_counts_of_one_sample() -> None:
    # Unigrams a b d; bigram ab; no trigram and no 4-gram. Four, three, two and one of the prediction; both lengths.
    assert bleu_counts("abcd", "abxd") == (3, 4, 1, 3, 0, 2, 0, 1, 4, 4)
    # Half a match in two trigrams, a quarter of one in one 4-gram.
    assert bleu(3, 4, 1, 3, 0, 2, 0, 1, 4, 4) == pytest.approx((3 / 4 * 1 / 3 * (1 / 2) / 2 * (1 / 4) / 1) ** (1 / 4))
    assert bleu(*bleu_counts("abcdefgh", "abcd")) == pytest.approx(math.exp(1 - 8 / 4))  # the brevity penalty
    three = bleu_counts("abc", "abc")  # no sequence of four
    assert (bleu(*three), bleu(*three, every_order=False)) == (0, 1)
    assert bleu(*bleu_counts("abcd", "wxyz")) == bleu(*bleu_counts("abcd", "")) == 0


@given(st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_added_counts_are_the_corpus_bleu_of_sacrebleu(pairs: list[tuple[list[str], list[str]]]) -> None:
    counts = map(sum, zip(*(bleu_counts(*pair) for pair in pairs), strict=True))
    truths, predictions = ([" ".join(side) for side in sides] for sides in zip(*pairs, strict=True))
    expected = sacrebleu.corpus_bleu(predictions, [truths], tokenize="none", force=True)
    assert bleu(*counts) == pytest.approx(expected.score / 100, abs=1e-9)


@given(SENTENCE.filter(bool), SENTENCE.filter(bool))
@settings(max_examples=60, deadline=None)
def test_the_bleu_of_one_sample_is_sacrebleus(truth: list[str], prediction: list[str]) -> None:
    expected = sacrebleu.sentence_bleu(" ".join(prediction), [" ".join(truth)], tokenize="none")
    assert bleu(*bleu_counts(truth, prediction), every_order=False) == pytest.approx(expected.score / 100, abs=1e-9)
