"""Fewer digits only where they are asked for, or where a probe finds the same ranking sooner."""

import time
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from tests.models.test_attentive import VOCABULARY, batch_of, build, examples
from trueness.errors import Unsupported, UserError
from trueness.explainers import precision
from trueness.explainers.contract import Explainer
from trueness.explainers.gradients import Gradient
from trueness.explainers.precision import PROBED, WORTH, attribute
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS

MANY = examples(sizes=(9,) * WORTH, pairs=False)


@dataclass(frozen=True)
class Scripted(Explainer):
    """Scores that fall from word to word, slow at full precision; with fewer digits as `change` makes them."""

    change: str = "nothing"
    asked: ClassVar[list[int]] = []

    def attribute(self, model, batch, target="predicted"):
        self.asked.append(len(batch))
        scores = batch.mask.cumsum(dim=1).flip(1).double() * batch.mask
        if not torch.is_autocast_enabled("cpu"):
            time.sleep(0.02 if self.change != "slower" else 0)
            return scores
        if self.change == "slower":
            time.sleep(0.02)
        if self.change == "order":
            scores[0, [1, 2]] = scores[0, [2, 1]]
        if self.change == "sum":
            scores = scores * 1.02
        return scores


def used(change, monkeypatch, many=MANY):
    monkeypatch.setattr(precision, "_offered", lambda _: ["bf16"])
    Scripted.asked.clear()
    return attribute(Scripted(change), build(), batch_of(many), "predicted", "auto").precision


def test_the_faster_is_taken_where_ranking_and_sum_stay(monkeypatch):
    assert used("nothing", monkeypatch) == "bf16"
    assert Scripted.asked == [PROBED] * 4 + [len(MANY)], "twice at each precision, then all texts"


@pytest.mark.parametrize("change", ["order", "sum", "slower"])
def test_else_it_is_full(change, monkeypatch):
    assert used(change, monkeypatch) == "full"


def test_few_texts_and_slow_devices_are_not_probed(monkeypatch):
    assert used("nothing", monkeypatch, MANY[1:]) == "full"
    assert Scripted.asked == [WORTH - 1]
    monkeypatch.setattr(precision, "_offered", lambda _: [])
    Scripted.asked.clear()
    assert attribute(Scripted(), build(), batch_of(MANY), "predicted", "auto").precision == "full"
    assert Scripted.asked == [len(MANY)]


def test_by_default_it_is_what_the_method_says():
    model, batch = build(), batch_of(MANY)
    found = attribute(Gradient(), model, batch, "predicted")
    assert found.precision == "default"
    assert torch.equal(found.scores, Gradient().attribute(model, batch))


def test_fewer_digits_are_near_and_not_equal():
    model, batch = build(), batch_of(MANY)
    model.float()
    full, less = (attribute(Gradient(), model, batch, 0, name).scores for name in ("full", "bf16"))
    assert less.dtype == torch.float32
    assert not torch.equal(full, less)
    assert torch.allclose(full, less, rtol=0.1, atol=0.05 * float(full.max()))


@pytest.mark.parametrize("name", list(TEXT_EXPLAINERS))
def test_every_explainer_can_compute_with_fewer_digits(name):
    model, batch = build().float(), batch_of(MANY[:2])
    try:
        found = attribute(TEXT_EXPLAINERS[name], model, batch, 0, "bf16").scores
    except Unsupported:
        pytest.skip("not of this model")
    assert found.dtype == torch.float32
    assert bool(found.isfinite().all())


def _switches():
    return [
        one.fp32_precision for one in (torch.backends.cuda.matmul, torch.backends.cudnn.conv, torch.backends.cudnn.rnn)
    ]


def test_settings_of_the_device_are_left_as_they_were():
    gpu = torch.device("cuda")
    before = _switches()
    with precision.computing("tf32", gpu):
        assert _switches() == ["tf32"] * 3
    with precision.computing("full", gpu):
        assert _switches() == ["ieee"] * 3
    with precision.computing("default", gpu):
        assert _switches() == before
    with precision.computing("full", torch.device("cpu")):
        assert _switches() == before
    assert _switches() == before


@pytest.mark.parametrize(("name", "said"), [("half", "must be default, full, tf32, bf16 or auto"), ("tf32", "NVIDIA")])
def test_other_precisions_are_refused(name, said):
    with pytest.raises(UserError, match=said):
        attribute(Gradient(), build(), batch_of(MANY), 0, name)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_tf32_on_a_gpu_is_near():
    model, batch = build().float().to("cuda"), EncodedSplit(MANY, VOCABULARY, "cuda").batch(range(len(MANY)))
    full, less = (attribute(Gradient(), model, batch, 0, name).scores for name in ("full", "tf32"))
    assert torch.allclose(full, less, rtol=0.02, atol=0.02 * float(full.max()))
    assert attribute(Gradient(), model, batch, 0, "auto").precision in ("full", "tf32", "bf16")
