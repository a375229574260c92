import pytest
import torch

import trueness as tn
from tests.models.transformers import FAMILIES, model, tokenizer
from trueness.errors import UserError
from trueness.kinds.text.data.dataset import prepare
from trueness.kinds.text.data.examples import RawExample
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.models.finetuning import _rate, fine_tune
from trueness.kinds.text.models.transformer import PREPARED
from trueness.models.cuda_graphs import GraphStepper
from trueness.models.recipes import FINE_TUNINGS, FineTuning


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """A tiny model that has learnt nothing, as a folder."""
    path = tmp_path_factory.mktemp("pretrained")
    model("bert", classes=2).float().save_pretrained(path)
    tokenizer().save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def data():
    texts = [("a good film", 1), ("a bad film", 0), ("the scene good", 1), ("bad plots the", 0)]
    raw = {split: [RawExample(*texts[row % 4]) for row in range(size)] for split, size in (("train", 64), ("dev", 16))}
    return prepare("toy", {**raw, "test": raw["dev"]}, Preparation())


QUICK = FineTuning(epochs=12, batch_size=8, learning_rate=1e-2)


def test_it_learns_the_same_from_the_same_seed(pretrained, data):
    first, again, other = (fine_tune(pretrained, data, recipe=QUICK, seed=seed) for seed in (0, 0, 1))
    assert tn.evaluate(first, data)["accuracy"] == 1.0
    weights = [one.network.state_dict() for one in (first, again, other)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert not all(torch.equal(weights[0][name], weights[2][name]) for name in weights[0])
    assert first.classes == data.classes


def test_the_best_epoch_is_kept_and_patience_ends(pretrained, data):
    seen = []
    tuned = fine_tune(pretrained, data, recipe=FineTuning(30, 8, 1e-2, patience=2), progress=seen.append)
    best = max(row["accuracy"] for row in seen)
    assert tn.evaluate(tuned, data, "dev")["accuracy"] == best
    assert len(seen) < 30


def test_the_learning_rate_rises_and_falls():
    how = FineTuning(warm_up=0.1)
    assert [_rate(step, 100, how) for step in (0, 5, 10, 55, 100)] == pytest.approx([0, 0.5, 1.0, 0.5, 0])
    assert _rate(99, 100, FINE_TUNINGS["fine-tune@court2022"]) == 1.0


def test_a_tuned_model_is_saved_and_explained(pretrained, data, tmp_path):
    tuned = fine_tune(pretrained, data, recipe=QUICK)
    loaded = tn.load_model(tuned.save(tmp_path / "tuned"))
    (found,) = tn.explain(loaded, ["a good film"], "leave-one-out-mask")
    assert found.predicted == "1"
    assert max(zip(found.scores, found.tokens, strict=True))[1] == "good"


def test_a_model_for_something_else_becomes_a_classifier(data, tmp_path):
    made = model("bert", classes=1).float()
    made.config.problem_type = "regression"
    made.save_pretrained(tmp_path / "pretrained")
    tokenizer().save_pretrained(tmp_path / "pretrained")
    tuned = fine_tune(tmp_path / "pretrained", data, recipe=FineTuning(epochs=1, batch_size=8))
    assert tn.load_model(tuned.save(tmp_path / "tuned")).classes == data.classes


@pytest.mark.parametrize("family", FAMILIES)
def test_the_head_of_a_classifier_is_drawn_anew(family, data, tmp_path):
    """Its classes may be others, or in another order; and seeds must differ."""
    made = model(family, classes=2).float()
    made.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    none = FineTuning(epochs=0)
    heads = [fine_tune(tmp_path, data, recipe=none, seed=seed).network.model.classifier for seed in (0, 0, 1)]
    first, again, other = (next(weight for weight in head.parameters() if weight.dim() == 2) for head in heads)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    own = next(weight for weight in made.classifier.parameters() if weight.dim() == 2)
    assert not torch.isclose(first, own).any()
    tuned = fine_tune(tmp_path, data, recipe=none).network.model.base_model
    assert torch.equal(tuned.get_input_embeddings().weight, made.get_input_embeddings().weight)


def test_a_folder_that_is_no_transformer_is_refused(data, tmp_path):
    with pytest.raises(UserError, match=r"There is no folder .*nothing"):
        fine_tune(tmp_path / "nothing", data)
    with pytest.raises(UserError, match=r"no config\.json"):
        fine_tune(tmp_path, data)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="records steps on a GPU only")
@pytest.mark.parametrize("family", FAMILIES)
def test_recorded_steps_equal_computed_ones(family, data, tmp_path, monkeypatch):
    recorded, losses = [], []
    record = GraphStepper._record
    monkeypatch.setattr(GraphStepper, "_record", lambda self, *what: (recorded.append(what), record(self, *what))[1])
    made = model(family, classes=2).float()
    for name in [name for name in vars(made.config) if "dropout" in name]:
        setattr(made.config, name, 0.0)  # draws differ between devices
    made.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    for device in ("cpu", "cuda"):
        seen = []
        fine_tune(tmp_path, data, recipe=FineTuning(4, 8, 1e-3), device=device, progress=seen.append)
        losses.append([row["train_loss"] for row in seen])
    assert losses[1] == pytest.approx(losses[0], rel=1e-2)
    assert bool(recorded) == (family in PREPARED)


def test_an_interrupted_fine_tuning_goes_on_as_if_nothing_had_happened(pretrained, data, tmp_path):
    how = {"recipe": FineTuning(3, 8, 1e-3, decay=True), "seed": 1}
    whole = fine_tune(pretrained, data, **how)
    with pytest.raises(KeyboardInterrupt):
        fine_tune(pretrained, data, **how, state=tmp_path / "state", progress=_stop_after_the_first)
    seen = []
    again = fine_tune(pretrained, data, **how, state=tmp_path / "state", progress=seen.append)
    assert [row["epoch"] for row in seen] == [2, 3]
    for name, weight in whole.network.state_dict().items():
        assert torch.equal(weight, again.network.state_dict()[name]), name
    with pytest.raises(UserError, match="another training"):
        fine_tune(pretrained, data, **{**how, "seed": 2}, state=tmp_path / "state")


def _stop_after_the_first(row):
    raise KeyboardInterrupt


def test_how_long_and_how_fast_it_learns_is_said_without_a_recipe(pretrained, data, tmp_path):
    tuned = tn.fine_tune(pretrained, data, epochs=2, learning_rate=1e-2, batch_size=8, max_length=16)
    by_recipe = tn.fine_tune(pretrained, data, recipe=FineTuning(2, 8, 1e-2, max_length=16))
    weights = [one.network.state_dict() for one in (tuned, by_recipe)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert tuned.coder.longest == 16
    assert tn.load_model(tuned.save(tmp_path / "tuned")).coder.longest == 16, "it is kept with the model"
    assert tn.fine_tune(pretrained, data, epochs=1).coder.longest > 16


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"epochs": 0}, "epochs is a whole number, 1 or more, not 0"),
        ({"max_length": 3}, "max_length is a whole number, 16 or more, not 3"),
        ({"batch_size": 2.5}, "batch_size is a whole number, 1 or more, not 2.5"),
        ({"learning_rate": 2}, "learning_rate is a number above 0 and below 1, not 2"),
    ],
)
def test_settings_that_mean_nothing_are_refused(setting, message, pretrained, data):
    with pytest.raises(UserError, match=message):
        tn.fine_tune(pretrained, data, **setting)
