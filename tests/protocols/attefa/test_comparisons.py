"""Two small networks with random weights, compared literally."""

import math

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

from tests.models.test_attentive import VOCABULARY, build, examples
from trueness.kinds.text.attention.twin_comparisons import (
    Base,
    attefa_of,
    health,
    largest_share,
    performance,
)
from trueness.kinds.text.models.text_model import TextModel
from trueness.kinds.text.models.twins import Reference
from trueness.models.evaluation import evaluate
from trueness.protocols.attefa.score import type_ceiling
from trueness.protocols.attefa.summary import ATTEFA
from trueness.stats import t_interval

LN2 = math.log(2)
TEXTS = [type(one)(one.tokens, one.label % 2) for one in examples((4, 2, 7, 3, 5), pairs=False)]
CLASSES = ("no", "yes")


def model(seed=0, encoder="bilstm", classes=CLASSES, scale=1.5):
    network = build(encoder, classes=len(classes), hidden=4, embedding=4)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))
    return TextModel(network, VOCABULARY, classes)


def looked_at(some, example):
    """Probabilities and attention of one text alone."""
    with torch.no_grad():
        seen = some.network(some.batch([example]))
    return seen.logits.softmax(-1)[0].numpy(), seen.attention[0, 1 : len(example.tokens) + 1].numpy()


def literally(first, second):
    """Per text: total variation of the predictions and Jensen-Shannon divergence of the attentions."""
    changes, divergences = [], []
    for example in TEXTS:
        (p, a), (q, b) = looked_at(first, example), looked_at(second, example)
        changes.append(np.abs(p - q).sum() / 2)
        divergences.append(jensenshannon(a, b) ** 2)
    return changes, divergences


def test_the_score_of_another_model_is_that_of_the_equation():
    base, other = model(17), model(20)
    changes, divergences = literally(base, other)
    result = attefa_of(base, other, TEXTS)
    records = result.records
    assert list(records) == ["instance", "change", "divergence", "base", "other"]
    assert records["instance"].tolist() == [0, 1, 2, 3, 4]
    assert records["change"].to_numpy() == pytest.approx(changes, abs=1e-6)
    assert records["divergence"].to_numpy() == pytest.approx(divergences, abs=1e-6)
    for name, some in (("base", base), ("other", other)):
        assert records[name].tolist() == [CLASSES[looked_at(some, example)[0].argmax()] for example in TEXTS]
    assert records["base"].tolist() != records["other"].tolist()
    change, divergence, score = result.scores
    facts = Base(base, TEXTS).facts()
    expected = (
        (change, "change of prediction (total variation)", changes, facts["constant"]),
        (divergence, "divergence of attention (Jensen-Shannon)", divergences, LN2),
    )
    for found, quantity, values, best in expected:
        interval = t_interval(values)
        assert (found.quantity, found.n, found.null) == (quantity, 5, 0.0)
        assert (found.value, found.low, found.high) == pytest.approx(
            (interval.value, interval.low, interval.high), abs=1e-6
        )
        assert found.best == pytest.approx(best)
    assert (score.quantity, score.n, score.level, score.low, score.high) == ("AtteFa", 5, 0.95, None, None)
    assert score.value == pytest.approx(min(np.mean(changes) / (np.mean(divergences) / LN2), 1), abs=1e-5)
    assert (score.null, score.best, score.direction) == (ATTEFA.null, ATTEFA.best, "higher is better")
    assert "not a mean" in score.note
    for found in result.scores:
        assert (found.dataset, found.model, found.method) == ("5 examples", "base model", "the other model")
        assert found.target == "the whole prediction"
    assert result.abstentions == ()
    last = result.warnings[-1]
    assert (last.code, last.where) == ("another-model", "AtteFa")
    assert last.message == (
        "it bounds how freely attention can be moved; it does not measure the faithfulness of the base model"
    )


def test_a_model_beside_itself_has_no_score():
    base = model(17)
    result = attefa_of(base, base, TEXTS)
    (missing,) = result.abstentions
    assert (missing.quantity, missing.where) == ("AtteFa", "both models")
    assert missing.reason == "the attentions do not differ"
    assert [score.quantity[:6] for score in result.scores] == ["change", "diverg"]
    assert [score.value for score in result.scores] == pytest.approx([0, 0], abs=1e-9)


def test_models_of_other_classes_are_refused():
    with pytest.raises(ValueError, match=r"^the models have different classes: \('no', 'yes'\) and \('a', 'yes'\)$"):
        attefa_of(model(17), model(20, classes=("a", "yes")), TEXTS)


def test_a_twin_that_says_one_thing_is_told():
    base, other = model(17), model(20)
    with torch.no_grad():
        other.network.output.weight.zero_()
        other.network.output.bias.copy_(torch.tensor([3.0, 0.0]))
    assert 0.5 < largest_share(np.array([0, 1, 0])) < 0.95
    codes = [warning.code for warning in attefa_of(base, other, TEXTS).warnings]
    assert codes == ["collapsed-twin", "another-model"]


def test_facts_of_a_base_model():
    base = model(10)
    facts = Base(base, TEXTS).facts()
    p = np.array([looked_at(base, example)[0][1] for example in TEXTS])
    assert list(facts) == ["performance", "constant", "ceiling", "one_class", "classes", "examples"]
    assert facts["constant"] == pytest.approx(np.abs(p - np.median(p)).mean(), abs=1e-6)
    assert facts["ceiling"] is None, "the encoder looks at the context"
    assert facts["one_class"] == max((p > 0.5).mean(), (p <= 0.5).mean()) < 1
    assert (facts["classes"], facts["examples"]) == (2, 5)
    gold = np.array([example.label for example in TEXTS])
    hits = ((p > 0.5) & (gold == 1)).sum()
    assert facts["performance"] == pytest.approx(2 * hits / ((p > 0.5).sum() + (gold == 1).sum()))
    assert 0 < facts["performance"] < 1


def test_without_context_equal_words_bound_the_divergence():
    base = model(3, encoder="average")
    expected = []
    for example in TEXTS:
        batch = base.batch([example])
        with torch.no_grad():
            attention = base.network(batch).attention
        expected.append(float(type_ceiling(attention, batch.tokens, batch.mask)))
    assert Base(base, TEXTS).ceiling() == pytest.approx(np.mean(expected), abs=1e-6)
    result = attefa_of(base, model(4, encoder="average"), TEXTS)
    assert result.scores[1].best == pytest.approx(np.mean(expected), abs=1e-6)


def test_other_models_are_measured_one_by_one_and_text_by_text():
    base, others = model(17), [model(20), model(10)]
    labelled = [({"method": name, "seed": seed}, one) for name, seed, one in zip("ab", (5, 6), others, strict=True)]
    first = Base(base, TEXTS)
    runs, records = first.measure(labelled)
    assert list(runs) == ["method", "seed", "performance", "change", "divergence", "one_class"]
    assert list(records) == ["method", "seed", "instance", "change", "divergence", "predicted"]
    assert records["instance"].tolist() == [0, 1, 2, 3, 4] * 2
    assert records.index.tolist() == list(range(10))
    assert [str(kind) for kind in records.dtypes[2:]] == ["int32", "float32", "float32", "int16"]
    for place, (labels, other) in enumerate(labelled):
        changes, divergences = literally(base, other)
        row, part = runs.iloc[place], records[records["seed"] == labels["seed"]]
        assert (row["method"], row["seed"]) == (labels["method"], labels["seed"])
        assert (row["change"], row["divergence"]) == pytest.approx((np.mean(changes), np.mean(divergences)), abs=1e-6)
        assert part["change"].to_numpy() == pytest.approx(changes, abs=1e-5)
        assert part["divergence"].to_numpy() == pytest.approx(divergences, abs=1e-5)
        predicted = [looked_at(other, example)[0].argmax() for example in TEXTS]
        assert part["predicted"].tolist() == predicted
        assert row["one_class"] == np.bincount(predicted).max() / 5
        assert row["performance"] == evaluate(other.network, first.split, 2)["f1"]


def test_performance_is_f1_of_two_classes_and_macro_f1_of_more():
    assert performance({"f1": 0.3, "macro-f1": 0.5}) == 0.3
    assert performance({"accuracy": 0.1, "macro-f1": 0.5}) == 0.5


def test_sentences_about_one_twin():
    base = {"ceiling": None, "one_class": 0.6}
    (collapsed,) = health(base, 0.3, 0.97)
    assert (collapsed.code, collapsed.where) == ("collapsed-twin", "the other model")
    assert collapsed.message == (
        "the twin predicts one class for 97% of the examples (the base model: 60%): it has collapsed, and its score "
        "says nothing about attention"
    )
    assert health(base, 0.98 * LN2, 0.95) == [], "at the limits, not beyond"
    assert len(health({**base, "one_class": 0.95}, 0.3, 0.96)) == 1
    saturated, unreachable = health({**base, "ceiling": 0.4}, 0.395, 0.5)
    assert saturated.message == (
        "the divergence is 0.395 of at most 0.400: the score is the change of prediction rescaled"
    )
    assert unreachable.message == (
        "no twin can diverge by more than 0.400, less than the ln 2 by which the score divides"
    )
    assert [one.code for one in (saturated, unreachable)] == ["divergence-saturated", "unreachable-ceiling"]
    assert health({**base, "ceiling": 0.98 * LN2}, 0.3, 0.5) == []
    assert [one.code for one in health({**base, "ceiling": 0.0}, 0.0, 0.5)] == ["unreachable-ceiling"]
    assert [one.code for one in health({**base, "ceiling": 0.5}, 0.495, 0.5)][:1] == ["divergence-saturated"]


def test_a_look_is_kept():
    base = Base(model(17), TEXTS)
    assert torch.equal(base.look.attention, Reference.of(model(17).network, base.split).attention)
