"""An explanation alone and in company, and before and after an edit."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.oracle import Constant, Right, make_model, make_texts
from tests.models.transformers import model as transformer
from tests.models.transformers import tokenizer
from trueness.audits import repeats
from trueness.explainers.contract import Explainer, Facts
from trueness.explainers.simple import Random
from trueness.kinds.text.audit import VIEW, edit, edited
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.examples import TextExample, TextExamples
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.explainers.simple import TokenNumber
from trueness.kinds.text.models.transformer import Subwords, Transformer, TransformerModel
from trueness.protocols.randomisation import explained


class Sociable(Explainer):
    """Right for a text alone; in company the opposite."""

    facts = Facts()

    def attribute(self, model, batch, target="predicted"):
        return Right().attribute(model, batch, target) * (1 if len(batch) == 1 else -1)


class Touchy(Explainer):
    """Right where the number of words is even, otherwise the opposite."""

    facts = Facts()

    def attribute(self, model, batch, target="predicted"):
        sign = torch.where(batch.mask.sum(dim=1, keepdim=True) % 2 == 0, 1.0, -1.0)
        return Right().attribute(model, batch, target) * sign


def by_hand(number=20):
    rng = np.random.default_rng(0)
    model = make_model(rng)
    return model, make_texts(rng, number)


def alone(model, texts, explainer, scores, mask):
    return repeats.by_itself(model.network, model.coded(texts), len(texts), explainer, scores, mask)


def after_edit(model, texts, explainer, scores):
    kind = SimpleNamespace(edit=edit, view=VIEW)
    return repeats.after_edit(kind, model, TextExamples(texts), np.arange(len(texts)), explainer, scores)


def scores_of(model, texts, explainer):
    return explained(model.network, EncodedSplit(texts, model.coder), explainer)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a good film", "a good film ."),
        ("a good film .", "a good film"),
        ("a good film !", "a good film"),
        ("a good film?", "a good film"),
        ("a good film...", "a good film.."),
        ("a good . film", "a good . film ."),
        ("film", "film ."),
        ("film.", "film"),
        (".", ". ."),
        (". .", "."),
    ],
)
def test_an_edit_adds_a_full_stop_or_takes_it_away(before, after):
    example = TextExample(tuple(before.split()), 1, ("other",), (True,) * len(before.split()))
    assert edited(example) == TextExample(tuple(after.split()), 1, ("other",))


@given(st.lists(st.sampled_from(["a", "b.", ".", "!", "c"]), min_size=1, max_size=6))
def test_an_edit_changes_the_end_only_and_never_nothing(words):
    found = edited(TextExample(tuple(words), 0)).tokens
    assert found != tuple(words)
    assert found
    assert abs(len(found) - len(words)) <= 1
    assert list(found[: len(words) - 1]) == words[:-1]


def test_alone_is_the_correlation_with_the_explanation_of_the_text_alone():
    model, texts = by_hand()
    rng = np.random.default_rng(1)
    scores, mask = scores_of(model, texts, Right())
    scores = np.where(mask, scores + rng.normal(size=mask.shape), 0.0)
    found = alone(model, texts, Right(), scores, mask)
    for row, text in enumerate(texts):
        single = [-float(model.network.embedding.weight[model.coder.numbers[word], 0].detach()) for word in text.tokens]
        assert found[row] == pytest.approx(np.corrcoef(scores[row][mask[row]], single)[0, 1])


@pytest.mark.parametrize(
    ("explainer", "same"), [(Right(), 1), (Random(), 1), (TokenNumber(), 1), (Constant(), 1), (Sociable(), -1)]
)
def test_company_matters_only_to_methods_that_look_at_it(explainer, same):
    model, texts = by_hand()
    assert alone(model, texts, explainer, *scores_of(model, texts, explainer)) == pytest.approx(same)


def test_a_text_of_one_word_says_nothing_about_company():
    model, _ = by_hand()
    texts = [TextExample(("w1",), 0), TextExample(("w1", "w2"), 0)]
    found = alone(model, texts, Right(), *scores_of(model, texts, Right()))
    assert np.isnan(found).tolist() == [True, False]


@pytest.mark.parametrize(("explainer", "same"), [(Right(), 1), (TokenNumber(), 1), (Touchy(), -1)])
def test_an_edit_matters_only_to_methods_that_look_at_it(explainer, same):
    model, texts = by_hand()
    texts += [TextExample((*text.tokens, "."), 0) for text in texts[:5]]
    scores, _ = scores_of(model, texts, explainer)
    found = after_edit(model, texts, explainer, scores)
    assert found == pytest.approx(same)


def test_random_scores_are_drawn_anew_after_an_edit():
    model, texts = by_hand(200)
    scores, _ = scores_of(model, texts, Random())
    found = after_edit(model, texts, Random(), scores)
    assert abs(found.mean()) < 0.1


def test_words_are_compared_as_far_as_both_texts_have_them():
    """Literally: parts are added up to words; a word that lost its full stop is another word."""
    model = TransformerModel(Transformer(transformer("bert")), Subwords(tokenizer(), 64), ("a", "b", "c"))
    explainer = TEXT_EXPLAINERS["input-x-gradient"]
    lines = [
        "a goodness film",
        "the plots dully bad scenes .",
        "dully bad scenes the film.",
        "greatness",
        "a film.",
        ".",
    ]
    texts = [TextExample(tuple(line.split()), number % 3) for number, line in enumerate(lines)]
    changed = [edited(text) for text in texts]
    scores, _ = explained(model.network, EncodedSplit(texts, model.coder), explainer)
    found = after_edit(model, texts, explainer, scores)

    def by_word(text):
        batch = EncodedSplit([text], model.coder).batch([0])
        parts = explainer.attribute(model.network, batch, "gold")[0].tolist()
        words = model.coder.code(text).words
        return [
            sum(part for part, word in zip(parts, words, strict=True) if word == place)
            for place in range(len(text.tokens))
        ]

    for row, common in ((0, 3), (1, 5), (2, 4)):
        one, two = by_word(texts[row])[:common], by_word(changed[row])[:common]
        assert found[row] == pytest.approx(np.corrcoef(one, two)[0, 1])
    assert np.isnan(found).tolist() == [False] * 3 + [True] * 3
