"""Recursive ROAR of vectors and images: oracles on data whose evidence is known, and real digits."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import trueness as tn
from trueness.errors import UserError


def decided_by(columns, count=600, width=8, seed=0):
    """Vectors of noise whose class is the sign of one value, which stands in every one of `columns`."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(count, width))
    inputs[:, columns] = inputs[:, columns[:1]]
    labels = (inputs[:, columns[0]] > 0).astype(int)
    return (inputs[: count // 2], labels[: count // 2]), (inputs[count // 2 :], labels[count // 2 :])


def train(inputs, labels, seed):
    some = np.random.default_rng(seed).choice(len(inputs), len(inputs))  # the fit itself knows no chance
    return LogisticRegression(C=10.0).fit(inputs[some].reshape(len(inputs), -1), labels[some])


def predict(model, inputs):
    return model.predict(inputs.reshape(len(inputs), -1))


def perfect(model, inputs, classes):
    """The place that the model uses most, and nothing else."""
    found = np.zeros(inputs.shape)
    found[:, np.abs(model.coef_[0]).argmax()] = 1
    return found


def inverted(model, inputs, classes):
    return 1 - perfect(model, inputs, classes)


HOW = {"train": train, "predict": predict, "steps": [0.125, 0.25, 0.5, 0.75], "seeds": 3}


def test_one_place_decides():
    found = tn.recursive_roar(*decided_by([2]), explainers={"perfect": perfect, "inverted": inverted}, **HOW)
    scores = found.score_table().set_index(["quantity", "method"])["value"]
    curves = found.tables["curves"].set_index(["method", "step"])["mean"]
    assert curves["perfect", 0] > 0.95
    assert curves["perfect", 1] < 0.6  # it fell to the bound at once
    assert curves["inverted", 4] > 0.95
    assert scores["faithfulness", "perfect"] == pytest.approx(
        found.score_table().set_index("method").loc["perfect", "best"].iloc[0], abs=0.15
    )
    assert scores["faithfulness", "inverted"] < -0.5
    assert not {"mask-leak", "small-denominator", "few-seeds"} & {warning.code for warning in found.warnings}
    assert not found.claims


def test_only_the_recursive_order_finds_a_copy():
    found = tn.recursive_roar(
        *decided_by([2, 5]), explainers={"perfect": perfect}, orders=["recursive", "plain"], **HOW
    )
    curves = found.tables["curves"].set_index(["order", "method", "step"])["mean"]
    assert curves["plain", "perfect", 1] == curves["recursive", "perfect", 1] > 0.95
    assert curves["recursive", "perfect", 2] < 0.6
    assert curves["plain", "perfect", 2] > 0.95


def test_a_mask_that_tells_the_class_is_warned_of():
    def telling(model, inputs, classes):
        found = np.tile(np.arange(inputs.shape[1], dtype=float), (len(inputs), 1))
        return np.where(classes[:, None] == 1, found, found[:, ::-1])

    found = tn.recursive_roar(*decided_by([2]), explainers={"telling": telling}, **HOW)
    assert "mask-leak" in {warning.code for warning in found.warnings}
    quiet = tn.recursive_roar(*decided_by([2]), explainers={"telling": telling}, target="predicted", leak=False, **HOW)
    assert not {"mask-leak", "gold-label"} & {warning.code for warning in quiet.warnings}


@pytest.mark.slow
def test_pixels_of_digits_tell_the_digit_by_where_they_are_hidden():
    """Real images, a network and its gradient: the case in which ROAR must not be believed, and says so."""
    digits = load_digits()
    images = (digits.images[:, None] / 16).astype(np.float32)
    splits = [(images[part], digits.target[part]) for part in (slice(0, 300), slice(300, 500))]

    def fit(inputs, labels, seed):
        torch.manual_seed(seed)
        network = torch.nn.Sequential(
            torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(256, 10)
        )
        optimiser = torch.optim.Adam(network.parameters(), lr=0.02)
        for _ in range(25):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(network(torch.from_numpy(inputs)), torch.from_numpy(labels)).backward()
            optimiser.step()
        return network

    def classes_of(network, inputs):
        with torch.no_grad():
            return network(torch.from_numpy(inputs)).argmax(dim=1).numpy()

    def gradient(network, inputs, classes):
        values = torch.from_numpy(inputs).requires_grad_()
        network(values).gather(1, torch.from_numpy(classes)[:, None]).sum().backward()
        return values.grad.abs().sum(dim=1).numpy()

    found = tn.recursive_roar(
        *splits,
        train=fit,
        predict=classes_of,
        explainers={"gradient": gradient},
        channels="first",
        steps=[0.2, 0.4],
        seeds=3,
        target="predicted",
        dataset="digits",
    )
    curves = found.tables["curves"].set_index(["method", "step"])["mean"]
    assert curves["random", 0] > 0.8
    assert curves["random", 3] < 0.2
    assert [warning.where for warning in found.warnings if warning.code == "mask-leak"] == [
        "digits, model, gradient, recursive"
    ]


@pytest.mark.parametrize("channels", ["first", "last"])
def test_channels_are_hidden_together(channels):
    shape = (4, 3, 2, 2) if channels == "first" else (4, 2, 2, 3)
    inputs = np.arange(48.0).reshape(shape) + 100
    seen = []

    def watch(values, labels, seed):
        seen.append(values)

    tn.recursive_roar(
        (inputs, np.array([0, 1, 0, 1])),
        (inputs, np.array([0, 1, 0, 1])),
        train=watch,
        predict=lambda model, values: np.zeros(len(values), dtype=int),
        explainers={"first place": lambda model, values, classes: np.tile([[[1.0, 0.5], [0.2, 0.1]]], (4, 1, 1))},
        channels=channels,
        steps=[0.25, 0.5],
        seeds=1,
        leak=False,
        fill=-1,
    )
    hidden = [values.sum(axis=1 if channels == "first" else -1) == -3 for values in seen]
    assert [int(mask.sum()) for mask in hidden] == [0, 16, 4, 8, 4, 8]  # whole, nothing, random twice, explained twice
    assert hidden[4][:, 0, 0].all()
    assert hidden[5][:, 0].all()
    assert (hidden[2] <= hidden[3]).all()


@pytest.mark.parametrize("whole", [False, True])
def test_hidden_values_get_the_mean_of_their_place(whole):
    splits = [(inputs > 0 if whole else inputs, labels) for inputs, labels in decided_by([2])]
    seen = []
    tn.recursive_roar(
        *splits,
        train=lambda values, classes, seed: seen.append(values) or train(values, classes, seed),
        predict=predict,
        explainers={"perfect": perfect},
        steps=np.array([0.05, 0.5, 0.55]),
        seeds=np.int64(1),
        leak=False,
    )
    assert np.allclose(seen[1], splits[0][0].mean(axis=0))


def raising(error):
    def explain(model, inputs, classes):
        raise error

    return explain


def followed(explainers):
    return tn.recursive_roar(*decided_by([2]), explainers=explainers, **{**HOW, "seeds": 1, "steps": [0.5]}, leak=False)


def test_what_a_model_cannot_have_is_an_abstention_and_the_others_go_on():
    found = followed({"gradient": raising(tn.Unsupported("a tree has no gradient.")), "perfect": perfect})
    assert [(item.quantity, item.reason) for item in found.abstentions] == [("gradient", "a tree has no gradient")]
    assert "perfect" in set(found.to_pandas()["method"])
    with pytest.raises(UserError, match=r"No explainer could be followed: gradient: a tree has no gradient\.$"):
        followed({"gradient": raising(tn.Unsupported("a tree has no gradient."))})


@pytest.mark.parametrize("error", [KeyError("nothing"), UserError("Give a number."), torch.OutOfMemoryError("full")])
def test_any_other_error_of_an_explainer_is_its_own_and_names_it(error):
    with pytest.raises(type(error)) as caught:
        followed({"perfect": perfect, "broken": raising(error)})
    assert caught.value is error
    assert error.__notes__ == ["The explainer broken failed on 300 inputs of the train split."]


@pytest.mark.parametrize(
    ("explain", "message"),
    [
        (
            lambda model, inputs, classes: inputs[:, :3],
            r"The explainer few gives .* \(300, 3\); without channels, inputs of shape \(300, 8\) need \(300, 8\)\.",
        ),
        (lambda model, inputs, classes: np.full(inputs.shape, np.inf), "The explainer few gives .* not finite"),
    ],
)
def test_scores_that_are_none_are_refused(explain, message):
    with pytest.raises(UserError, match=message):
        followed({"perfect": perfect, "few": explain})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": [0.5, 0.2]}, "shares above 0 and below 1 that increase"),
        ({"steps": [0.0, 0.2]}, "shares above 0"),
        ({"steps": []}, "shares above 0"),
        ({"steps": "often"}, "shares of all places"),
        ({"explainers": {}}, "by name"),
        ({"explainers": [perfect]}, "by name"),
        ({"explainers": {"nothing": None}}, "by name"),
        ({"explainers": {"random": perfect}}, "The name random is taken"),
        ({"orders": ["backwards"]}, "recursive, plain, or both"),
        ({"orders": "recursive"}, "in a list"),
        ({"target": "pred"}, "gold or predicted, not 'pred'"),
        ({"channels": "middle"}, "Channels are first, last, or None"),
        ({"seeds": 0}, "At least one seed"),
        ({"seeds": "3"}, "At least one seed"),
        ({"seeds": [3, 3]}, "none twice"),
        ({"seeds": 1.5}, "a number of them, or a list"),
        ({"fill": [1, 2, 3]}, r"fit the shape of an input, \(8,\)"),
        (
            {"predict": lambda model, inputs: model.predict(inputs)[:, None]},
            r"shape \(300, 1\), and \(300,\) is wanted",
        ),
        ({"predict": lambda model, inputs: model.predict_proba(inputs)[:, 1]}, "no input has such a class"),
    ],
)
def test_what_cannot_be_asked(changes, message):
    with pytest.raises(UserError, match=message):
        tn.recursive_roar(*decided_by([2]), **{**HOW, "explainers": {"perfect": perfect}, **changes})


def test_splits_must_fit():
    whole, test = decided_by([2])
    how = {**HOW, "explainers": {"perfect": perfect}}
    with pytest.raises(UserError, match="300 inputs and 299 classes"):
        tn.recursive_roar((whole[0], whole[1][1:]), test, **how)
    with pytest.raises(UserError, match="differ in shape"):
        tn.recursive_roar(whole, (test[0][:, 1:], test[1]), **how)
    with pytest.raises(UserError, match=r"\(examples, ...\)"):
        tn.recursive_roar((whole[0][:, 0], whole[1]), test, **how)
    with pytest.raises(UserError, match="must be a pair"):
        tn.recursive_roar(whole[0], test, **how)
    with pytest.raises(UserError, match="not numbers"):
        tn.recursive_roar((whole[0].astype(str), whole[1]), test, **how)


def test_steps_that_hide_no_more_are_warned_of():
    found = tn.recursive_roar(*decided_by([2]), explainers={"perfect": perfect}, **{**HOW, "steps": [0.05, 0.5, 0.55]})
    (warning,) = (warning for warning in found.warnings if warning.code == "repeated-steps")
    assert "the steps 0.05, 0.55 hide no more" in warning.message
