"""Whether evidence is used, and what explanations find of it, by hand."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import binom

from tests.models.test_attentive import VOCABULARY
from tests.protocols.ground_truth.reader import reader
from trueness.explainers.contract import explainer
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.evidence import marks_of
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.papers.ground_truth.trial import trial
from trueness.protocols.ground_truth.summary import PlantedCell, summarise
from trueness.protocols.ground_truth.trial import usage


def test_the_bound_is_an_exact_binomial_tail():
    found = usage(60, 100, 0.5)
    assert found["p_value"] == pytest.approx(binom.sf(59, 100, 0.5))
    assert found["least_share"] == pytest.approx(0.2)
    assert not found["proven"] or found["p_value"] < 0.01
    assert usage(97, 100, 0.5)["proven"]
    assert not usage(55, 100, 0.5)["proven"]
    assert not usage(100, 100, 1.0)["proven"], "labels that can be known without the evidence prove nothing"


def test_an_explainer_that_returns_the_evidence_gets_everything():
    """The network predicts the planted label by construction: its output is a table over one word."""
    rng = np.random.default_rng(0)
    examples = []
    for row in range(40):
        words = rng.choice(VOCABULARY.words[7:], 6).tolist()
        place, label = int(rng.integers(6)), row % 2
        words[place] = VOCABULARY.words[5 + label]
        examples.append(TextExample(tuple(words), label, evidence=tuple(at == place for at in range(6))))
    if "oracle" not in TEXT_EXPLAINERS:

        @explainer("oracle")
        def oracle(_, batch, __):
            """The planted words."""
            return ((batch.tokens == 5) | (batch.tokens == 6)).double()

        @explainer("flat")
        def flat(_, batch, __):
            """Says nothing."""
            return torch.ones(batch.mask.shape, dtype=torch.float64)

    how = {"bound": 0.5, "instances": 30}
    records, facts = trial(reader(), examples, ["oracle", "flat", "integrated-gradients"], **how)
    assert facts["accuracy"] == 1.0
    means = records.groupby("method")[["attribution share", "AUROC", "precision", "evidence size"]].mean()
    assert means.loc["oracle", ["attribution share", "AUROC", "precision"]].tolist() == [1, 1, 1]
    assert means.loc["integrated-gradients", "AUROC"] == 1
    assert means.loc["flat", "attribution share"] == pytest.approx(means.loc["flat", "evidence size"])
    assert len(records) == 3 * 30
    nobody, unused = trial(reader(), [examples[0]] * 3, ["oracle"], **how)
    assert len(nobody) == 0
    assert not unused["proven"], "three right answers prove nothing"


def test_marks_follow_parts_of_words():
    from tests.models.transformers import tokenizer
    from trueness.kinds.text.models.transformer import Subwords

    example = TextExample(("a", "goodness", "film"), 1, evidence=(False, True, False))
    coder = Subwords(tokenizer(), 64)
    width = len(coder.code(example).tokens)
    assert marks_of(coder, [example], "evidence", width)[0].tolist() == [False, False, True, True, False, False]
    assert marks_of(VOCABULARY, [example], "evidence", 5)[0].tolist() == [False, False, True, False, False]
    assert not marks_of(coder, [example], "decoys", width).any()


def test_decoys_that_are_attributed_are_named():
    rows = [
        {
            "seed": seed, "instance": 0, "words": 10, "method": "gradient", "label": seed % 2, "right": True,
            "evidence size": 0.1, "decoy size": 0.1, "attribution share": 0.5, "AUROC": 0.9, "precision": 0.5,
            "top token": 0.5, "mean rank": 0.1, "decoy share": 0.3 + 0.01 * seed,
        }
        for seed in range(2)
    ]  # fmt: skip
    fact = {"accuracy": 1.0, "bound": 0.5, "n": 9, "p_value": 0.0, "least_share": 1.0, "proven": True, "refused": {}}
    facts = tuple({**fact, "seed": seed} for seed in range(2))
    result = summarise([PlantedCell("texts", "model", pd.DataFrame(rows), facts, ("no", "yes"))])
    assert {warning.code for warning in result.warnings} == {"few-models", "decoys-attributed"}
    (decoys,) = [score for score in result.scores if score.quantity == "decoy share"]
    assert (decoys.null, decoys.best, decoys.direction) == (0.1, 0.0, "lower is better")
