import numpy as np
import torch

from tests.audit.oracle import WORDS, make_model, make_texts
from tests.models.test_attentive import VOCABULARY, build, examples
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.explainers.simple import TokenNumber


def test_a_token_has_its_number_in_the_vocabulary():
    rng = np.random.default_rng(0)
    model, texts = make_model(rng), make_texts(rng, 5)
    split = EncodedSplit(texts, model.coder)
    for rows, batch in split.to_explain():
        found = TokenNumber().attribute(model.network, batch)
        for row, scores in zip(rows, found.tolist(), strict=True):
            words = texts[row].tokens
            numbers = [model.coder.words.index(word) for word in words]
            assert scores == [0, *numbers, *[0] * (len(scores) - 1 - len(words))]


def test_no_model_no_target_and_no_company_change_it():
    some = examples(pairs=False)
    batch = EncodedSplit(some, VOCABULARY).batch(range(len(some)))
    explainer = TEXT_EXPLAINERS["token-number"]
    plain = explainer.attribute(build(), batch, "predicted")
    other = build()
    with torch.no_grad():
        for weight in other.parameters():
            weight.normal_()
    for target in ("gold", "predicted"):
        assert torch.equal(explainer.attribute(other, batch, target), plain)
    for row, example in enumerate(some):
        single = EncodedSplit([example], VOCABULARY).batch([0])
        found = explainer.attribute(other, single)
        assert torch.equal(found[0], plain[row, : found.shape[1]])


def test_it_declares_what_it_is():
    assert not TokenNumber.facts.signed
    assert not TokenNumber.facts.random
    assert TokenNumber.facts.needs == TokenNumber.facts.machinery == ()


def test_a_text_of_one_word_and_the_last_word_of_the_vocabulary():
    model = make_model(np.random.default_rng(0))
    batch = EncodedSplit([TextExample((f"w{WORDS - 1}",), 0)], model.coder).batch([0])
    found = TokenNumber().attribute(model.network, batch)
    assert found.dtype == model.network.embedding.weight.dtype
    assert found[0, 1] == len(model.coder) - 1
