import pytest
import torch

from tests.kinds.prompt.subjects import first_copier, questions
from trueness.kinds import KINDS
from trueness.kinds.prompt.attention_trial import _probability, attention_matters
from trueness.kinds.prompt.data.prompts import PromptExample, PromptExamples
from trueness.kinds.prompt.models.functions import open_function
from trueness.kinds.prompt.models.opening import open_model
from trueness.kinds.prompt.models.tiny import tiny_model

KIND = KINDS["prompt"]
EXAMPLES = PromptExamples(
    PromptExample(
        "Where does she live?", ("It rained.", "Anna lives in a small town.", f"The boat is {colour}."), "a town"
    )
    for colour in ("red", "blue")
)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_nothing_cut_off_is_the_model_as_it_is(family):
    model = open_model(tiny_model(0, family=family))
    (coded, _) = model.coded(EXAMPLES).coded
    own = model.network.logits(model.coded(EXAMPLES).batch([0])).detach()[0, 0].exp()
    assert _probability(model, coded, coded.answers[0], None) == pytest.approx(float(own), abs=1e-5)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_what_nothing_attends_to_does_not_matter_whatever_it_says(family):
    model = open_model(tiny_model(0, family=family))
    one, other = model.coded(EXAMPLES).coded
    assert one.tokens != other.tokens
    assert _probability(model, one, one.answers[0], 2) == pytest.approx(
        _probability(model, other, other.answers[0], 2), abs=1e-6
    )
    assert (
        abs(_probability(model, one, one.answers[0], None) - _probability(model, other, other.answers[0], None)) > 1e-5
    )


def test_it_is_asked_of_attention_alone():
    model = open_model(tiny_model(0))
    (finding,), (note,) = attention_matters(model, EXAMPLES, KIND.explainers["attention"])
    assert finding.values.shape == (2,)
    assert (finding.values > 0).all()
    assert note.startswith("Cut off from the unit that it ranks last, the answer changes by ")
    assert attention_matters(model, EXAMPLES, KIND.explainers["leave-one-out"]) == ((), ())
    assert attention_matters(open_function(first_copier), questions(2), KIND.explainers["attention"]) == ((), ())


def test_a_model_without_attention_to_passages_fails():
    network, tokenizer = tiny_model(0)
    with torch.no_grad():
        for layer in network.model.layers:  # what is attended to is not read
            layer.self_attn.v_proj.weight.zero_()
    (finding,), _ = attention_matters(open_model((network, tokenizer)), EXAMPLES, KIND.explainers["attention"])
    assert finding.values == pytest.approx([0, 0], abs=1e-6)
