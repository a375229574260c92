"""Adversarial attention of one's own texts: every column of the records, checked with the network itself."""

import functools
import math

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

from tests.models.test_attentive import VOCABULARY, build, examples
from trueness.kinds.text.attention import adversarial_attention as module
from trueness.kinds.text.attention import ascent
from trueness.kinds.text.attention.adversarial_attention import adversarial_attention
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.models.text_model import TextModel
from trueness.stats import t_interval

CLASSES = ("no", "yes", "maybe")


def model(classes=2, head="linear", seed=17):
    network = build("bilstm", classes=classes, hidden=4, embedding=4, head=head)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(1.5 * torch.randn(parameter.shape, generator=generator))
    return TextModel(network, VOCABULARY, CLASSES[:classes])


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """What is checked holds after few steps as well."""
    monkeypatch.setattr(ascent, "STEPS", 10)
    monkeypatch.setattr(module, "Search", functools.partial(module.Search, steps=10))


TEXTS = [*examples((4, 7, 3), pairs=False), TextExample(("w1", "never", "w2", "w1"), 0)]
PAIRS = examples((4, 6), pairs=True)


@torch.no_grad()
def under(some, example, weights):
    """The output under an attention over the words."""
    batch = some.batch([example])
    wide = torch.zeros(batch.mask.shape, dtype=torch.float64)
    wide[0, 1 : len(example.tokens) + 1] = torch.tensor(weights, dtype=torch.float64)
    states = some.network.encode(some.network.embed(batch), batch)
    return some.network.decode(states, wide, batch).softmax(-1)[0].numpy()


@pytest.mark.parametrize(
    ("classes", "head", "texts"), [(2, "linear", TEXTS), (3, "linear", TEXTS[:2]), (2, "query", PAIRS)]
)
def test_every_record_can_be_checked_by_hand(classes, head, texts):
    some, epsilon = model(classes, head), 0.03
    result = adversarial_attention(some, texts, epsilon)
    assert len(result.records) == len(texts)
    for example, row in zip(texts, result.records.to_dict(orient="records"), strict=True):
        batch = some.batch([example])
        with torch.no_grad():
            seen = some.network(batch)
        before = seen.logits.softmax(-1)[0].numpy()
        words = len(example.tokens)
        assert row["words"] == list(example.tokens)
        assert row["other"] == " ".join(example.tokens_b or ())
        assert row["attention"] == pytest.approx(seen.attention[0, 1 : words + 1].tolist(), abs=1e-6)
        assert sum(row["adversarial"]) == pytest.approx(1)
        predicted = int(before.argmax())
        assert row["predicted"] == CLASSES[predicted]
        assert row["probability"] == pytest.approx(before[predicted], abs=1e-6)
        after = under(some, example, row["adversarial"])
        assert row["probability_after"] == pytest.approx(after[predicted], abs=1e-6)
        assert row["change"] == pytest.approx(np.abs(after - before).sum() / 2, abs=1e-6)
        assert row["change"] <= epsilon + 1e-6
        assert row["divergence"] == pytest.approx(jensenshannon(row["attention"], row["adversarial"]) ** 2, abs=1e-6)
        single = [under(some, example, np.eye(words)[place]) for place in range(words)]
        assert row["deciding"] == sum(int(one.argmax()) == predicted for one in single)
        assert row["alone"] == sum(np.abs(one - before).sum() / 2 <= epsilon for one in single)
        assert row["exact"] == (classes == 2 and head == "linear")
        assert row["upper"] >= row["divergence"]
        for which in ("first", "second"):
            place = row[f"{which}_position"]
            assert row[which] == (None if place < 0 else example.tokens[place])
        if row["first_position"] >= 0:
            expected = np.zeros(words)
            expected[row["first_position"]] += row["weight"]
            expected[row["second_position"]] += 1 - row["weight"]
            assert row["adversarial"] == pytest.approx(expected.tolist(), abs=1e-9)
        assert row["unknown"] == [word for word in example.tokens if word == "never"]
        assert row["note"] == some.unusual(example)
    assert list(result.records) == [
        "words", "other", "attention", "adversarial", "predicted", "probability", "probability_after", "change",
        "divergence", "upper", "exact", "deciding", "alone", "first", "second", "first_position", "second_position",
        "weight", "unknown", "note",
    ]  # fmt: skip


def test_scores_are_means_over_the_texts():
    result = adversarial_attention(model(), TEXTS, 0.03)
    assert [(one.quantity, one.best, one.direction) for one in result.scores] == [
        ("largest divergence within epsilon", 0.0, "lower is better"),
        ("words that could carry the decision alone", None, "neither"),
        ("words that alone give the same output", None, "neither"),
    ]
    for score, column in zip(result.scores, ("divergence", "deciding", "alone"), strict=True):
        expected = t_interval(result.records[column])
        assert (score.value, score.n) == (pytest.approx(expected.value), 4)
        assert (score.method, score.dataset, score.model) == ("exact", "4 examples", "the model")
    assert result.abstentions == ()
    default = adversarial_attention(model(), TEXTS)
    same = adversarial_attention(model(), TEXTS, 0.01)
    assert default.records["divergence"].tolist() == same.records["divergence"].tolist()


def test_where_it_is_not_exact_the_gap_is_told():
    result = adversarial_attention(model(3), TEXTS[:2], 0.03)
    assert {one.method for one in result.scores} == {"best found"}
    gap = (result.records["upper"] - result.records["divergence"]).mean()
    (missing,) = result.abstentions
    assert (missing.quantity, missing.where) == ("strongest adversary", "epsilon 0.03")
    assert missing.reason == (
        "known exactly for two classes and a linear head only; the best found and `upper` are an interval, "
        f"{gap:.3f} wide in the mean"
    )


def test_the_search_is_asked_for_the_same_epsilon(monkeypatch):
    asked = []
    found = module.search

    def search(view, how):
        asked.append(how)
        return found(view, how)

    monkeypatch.setattr(module, "search", search)
    adversarial_attention(model(3), TEXTS[:1], 0.03)
    assert [(how.form, how.epsilon) for how in asked] == [("text", 0.03)]
    adversarial_attention(model(2), TEXTS[:1], 0.03)
    assert len(asked) == 1, "what is exact needs none"


def test_most_divergences_near_the_largest_possible_are_told(monkeypatch):
    values = adversarial_attention(model(), TEXTS, 0.5).records["divergence"].sort_values().to_numpy()
    between = float(values[0] + values[1]) / 2
    monkeypatch.setattr(module, "SATURATED", between)
    (warning,) = adversarial_attention(model(), TEXTS, 0.5).warnings
    assert (warning.code, warning.where) == ("divergence-saturated", "epsilon 0.5")
    assert warning.message == (
        f"the divergence exceeds {between} (of at most {math.log(2):.3f}) in 75% of the examples"
    )
    monkeypatch.setattr(module, "SATURATED", float(values[1] + values[2]) / 2)
    assert adversarial_attention(model(), TEXTS, 0.5).warnings == (), "half are not most"


@pytest.mark.parametrize("epsilon", [-0.001, 1.001])
def test_epsilon_is_a_share(epsilon):
    with pytest.raises(ValueError, match=f"^epsilon must lie between 0 and 1, not {epsilon}$"):
        adversarial_attention(model(), TEXTS, epsilon)


def test_everything_and_nothing_are_allowed():
    free = adversarial_attention(model(), TEXTS, 1).records
    assert (free["alone"] == [4, 7, 3, 4]).all()
    least = [min(row) for row in free["attention"]]
    expected = [jensenshannon([1, 0], [one, 1 - one]) ** 2 for one in least]
    assert free["divergence"].tolist() == pytest.approx(expected), "all weight on the word of least attention"
    still = adversarial_attention(model(), TEXTS, 0).records
    assert still["change"].to_numpy() == pytest.approx(np.zeros(4), abs=1e-9)
