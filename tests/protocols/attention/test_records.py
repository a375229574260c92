"""Every column of the records of a trial, beside what makes it: one small network, a few texts."""

import numpy as np
import pytest
import torch

from tests.models.test_attentive import examples
from tests.protocols.attention.test_own_texts import model
from trueness.kinds.text.attention import ascent
from trueness.kinds.text.attention import trial as module
from trueness.kinds.text.attention.ascent import best_adversary
from trueness.kinds.text.attention.correlation import correlations, padded
from trueness.kinds.text.attention.permutation import permuted_logit, sampled_median
from trueness.kinds.text.attention.search import Search, improved, search
from trueness.kinds.text.attention.trial import Settings, attention_trial
from trueness.kinds.text.attention.view import AttentionView
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.models.network import inspecting

TEXTS = [type(one)(one.tokens, n % 2) for n, one in enumerate(examples((4, 7, 3, 5), pairs=False))]
HOW = Settings(epsilon=0.03, epsilons=(0.0, 0.2), permutations=7, search_steps=3, examples=2)
SEED = 2 * 1_000_003


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    monkeypatch.setattr(ascent, "STEPS", 5)


def looked_at(classes=2):
    """A model and its look at the texts, in the order of the trial's only batch: random draws depend on it."""
    some = model(classes)
    ((rows, batch),) = some.coded(TEXTS).in_order(1 << 16)
    with inspecting(some.network):
        return some, AttentionView(some.network, batch), np.argsort(rows)


def test_columns_of_the_records():
    some, view, back = looked_at()
    found = attention_trial(some, TEXTS, HOW, seed=2)
    records = found.records
    assert records["instance"].tolist() == [0, 1, 2, 3]
    assert records["length"].tolist() == [4, 7, 3, 5]
    assert records["gold"].tolist() == [0, 1, 0, 1]
    assert set(records["classes"]) == {2}
    assert records["predicted"].tolist() == view.probability.argmax(-1)[back].tolist()
    assert records["probability"].tolist() == pytest.approx(view.probability.amax(-1)[back].tolist(), abs=1e-6)
    assert records["max_attention"].tolist() == pytest.approx(view.attention.amax(-1)[back].tolist(), abs=1e-6)
    with torch.no_grad():
        closed = permuted_logit(view)
        for name, values in (
            ("permutation", sampled_median(view, 7, seed=SEED)),
            ("permutation_closed", closed.median_change()),
            ("permuted_mean", closed.mean),
            ("permuted_deviation", closed.deviation),
            ("logit", closed.observed),
        ):
            assert records[name].tolist() == pytest.approx(values[back].tolist(), abs=1e-5), name
        for epsilon in (0.0, 0.03, 0.05, 0.2):
            adversary = best_adversary(view, epsilon)
            assert records[f"adversary {epsilon:g}"].tolist() == pytest.approx(
                adversary.divergence[back].tolist(), abs=1e-5
            )
            assert records[f"upper {epsilon:g}"].tolist() == pytest.approx(adversary.upper[back].tolist(), abs=1e-5)
        main = best_adversary(view, 0.03)
    assert records["exact"].tolist() == [True] * 4
    for name in ("alone", "deciding", "change", "weight"):
        assert records[name].tolist() == pytest.approx(getattr(main, name)[back].tolist(), abs=1e-5), name
    for name in ("first", "second"):
        assert records[name].tolist() == (getattr(main, name) - 1)[back].tolist(), "the begin marker does not count"
    code = search(view, Search("code", steps=3), seed=SEED)
    text = search(view, Search("text", steps=3, epsilon=0.03), seed=SEED)
    for name, (values, _) in (
        ("search@jw2019", code.best(0.05)),
        ("search_code", code.best(0.03)),
        ("search", text.best(0.03)),
    ):
        assert records[name].tolist() == pytest.approx(values[back].tolist(), abs=1e-4), name
    assert set(found.tokens) == {
        "attention", "gradient@jw2019", "full-gradient", "leave-one-out@jw2019", "adversarial", "sizes",
    }  # fmt: skip
    assert found.tokens["sizes"].tolist() == [4, 7, 3, 5]
    adversarial = main.attention[back][view.mask[back]].numpy()
    assert found.tokens["adversarial"] == pytest.approx(adversarial, abs=1e-5)
    assert {str(values.dtype) for name, values in found.tokens.items() if name != "sizes"} == {"float32"}


def test_scores_of_tokens_and_their_correlations():
    some, view, back = looked_at()
    found = attention_trial(some, TEXTS, HOW, seed=2)
    batch = view.batch
    embeddings = some.network.embed(batch).detach().requires_grad_()
    probability = some.network(batch, embeddings=embeddings).logits.softmax(-1)
    (gradient,) = torch.autograd.grad(probability.amax(-1).sum(), embeddings)
    whole = {
        "attention": view.attention,
        "full-gradient": (gradient * embeddings).sum(-1).abs(),
        "gradient@jw2019": TEXT_EXPLAINERS["gradient@jw2019"].attribute(some.network, batch),
        "leave-one-out@jw2019": TEXT_EXPLAINERS["leave-one-out@jw2019"].attribute(some.network, batch),
    }
    for name, values in whole.items():
        expected = values.detach()[back][view.mask[back]].numpy()
        assert found.tokens[name] == pytest.approx(expected, abs=1e-5), name
    blocks = {name: padded(found.tokens[name].astype(float), found.tokens["sizes"]) for name in whole}
    mask = blocks["attention"][1]
    for name, values in correlations({name: block for name, (block, _) in blocks.items()}, mask).items():
        assert found.records[name].to_numpy() == pytest.approx(values, abs=1e-4, nan_ok=True), name


def test_where_it_is_not_exact_the_search_helps():
    some, view, back = looked_at(3)
    found = attention_trial(some, TEXTS, HOW, seed=2).records
    assert found["exact"].tolist() == [False] * 4
    assert set(found["classes"]) == {3}
    assert "permutation_closed" not in found
    text = search(view, Search("text", steps=3, epsilon=0.03), seed=SEED)
    begin = view.attention
    with torch.no_grad():
        for epsilon in (0.0, 0.03, 0.05, 0.2):
            adversary = improved(best_adversary(view, epsilon, begin), text, epsilon)
            begin = adversary.attention
            expected = adversary.divergence[back].tolist()
            assert found[f"adversary {epsilon:g}"].tolist() == pytest.approx(expected, abs=1e-3), epsilon


def test_shown_examples_have_their_words_and_weights():
    some, _, _ = looked_at()
    found = attention_trial(some, TEXTS, HOW, seed=2)
    order = found.records["adversary 0.03"].sort_values(kind="stable").index
    shown = found.examples.to_dict(orient="records")
    assert [row["instance"] for row in shown] == [order[0], order[-1]]
    ends = np.cumsum([4, 7, 3, 5])
    for row in shown:
        number = row["instance"]
        record, example = found.records.loc[number], TEXTS[number]
        assert row["words"] == list(example.tokens)
        assert row["other"] == ""
        inside = slice(ends[number] - len(example.tokens), ends[number])
        for name in ("attention", "adversarial"):
            assert row[name] == [round(float(value), 5) for value in found.tokens[name][inside]]
        assert (row["gold"], row["predicted"]) == tuple(
            some.classes[int(record[name])] for name in ("gold", "predicted")
        )
        for name, column in (("probability", "probability"), ("change", "change"), ("divergence", "adversary 0.03")):
            assert row[name] == pytest.approx(float(record[column]))
        assert row["exact"] is True
    assert list(found.examples) == [
        "instance", "words", "other", "attention", "adversarial", "gold", "predicted", "probability", "change",
        "divergence", "exact",
    ]  # fmt: skip


def test_long_texts_are_shown_only_where_there_are_no_others():
    some, _, _ = looked_at()
    how = Settings(epsilons=(), permutations=2, search_steps=0, examples=9)
    long = [type(one)(one.tokens, 0) for one in examples((121, 120, 3), pairs=False)]
    found = attention_trial(some, long, how)
    assert sorted(found.examples["instance"]) == [1, 2]
    assert attention_trial(some, long[:1], how).examples["instance"].tolist() == [0]
    assert "search" not in found.records


def test_batches_are_put_together_in_the_order_of_the_texts(monkeypatch):
    some, _, _ = looked_at()
    how = Settings(epsilon=0.03, epsilons=(), permutations=3, search_steps=0, examples=0)
    whole = attention_trial(some, TEXTS, how)
    seeds = []
    real, batch = module.EncodedSplit.in_order, module._batch

    def remembered(*arguments, seed):
        seeds.append(seed)
        return batch(*arguments, seed=seed)

    monkeypatch.setattr(module, "_batch", remembered)
    monkeypatch.setattr(module.EncodedSplit, "in_order", lambda split, _: real(split, 1))
    parts = attention_trial(some, TEXTS, how, seed=4)
    assert seeds == [4 * 1_000_003 + number for number in range(len(seeds))]
    assert len(seeds) > 1
    assert parts.records["instance"].tolist() == [0, 1, 2, 3]
    assert parts.records["adversary 0.03"].tolist() == pytest.approx(whole.records["adversary 0.03"].tolist())
    for name, values in whole.tokens.items():
        assert parts.tokens[name] == pytest.approx(values, abs=1e-6), name
