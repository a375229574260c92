"""Whether evidence is used, and what explanations find of it, by hand."""

import numpy as np
import pytest
import torch

from tests.models.test_attentive import VOCABULARY
from tests.protocols.ground_truth.reader import reader
from trueness.explainers.contract import explainer
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.evidence import marks_of
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.papers.ground_truth.trial import trial


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
