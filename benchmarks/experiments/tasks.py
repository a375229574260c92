"""What no study has: twins under other recipes, the published search under other budgets, masks by shuffled labels."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from trueness import kinds
from trueness.data.dataset import drawn_examples
from trueness.engine import Stored, task
from trueness.engine.worker import current_device
from trueness.kinds.text.attention.adversary import vertex_adversary
from trueness.kinds.text.attention.correlation import seed_spread
from trueness.kinds.text.attention.search import Search, search
from trueness.kinds.text.attention.summary import cells_of, summarise
from trueness.kinds.text.attention.trial import Settings, attention_trial
from trueness.kinds.text.attention.twin_comparisons import Base
from trueness.kinds.text.attention.view import AttentionView
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.models.attentive import attentive
from trueness.kinds.text.models.encoders import Average
from trueness.kinds.text.models.families import TEXT_MODELS
from trueness.kinds.text.models.twins import Reference, train_twins
from trueness.kinds.text.tasks import read_dataset, read_model, read_vectors
from trueness.models.network import inspecting
from trueness.models.recipes import RECIPES
from trueness.protocols.roar.hiding import Amount, Unit, hide
from trueness.protocols.roar.step import nothing, retrain
from trueness.report.compare import compared_rows
from trueness.studies.kinds import KINDS
from trueness.studies.retraining import method_of, retraining_of


@task("experiment/twins", version=1)
def twins(
    inputs: Mapping[str, Stored], *, base: int, seeds: Sequence[int], loss: str, weight_decay: float, epochs: int
) -> dict[str, Any]:
    """Twins of one base model, as published but for the loss and the weight decay."""
    data, model = read_dataset(inputs["dataset"]), read_model(inputs["models"], base)
    how = replace(RECIPES["twin@attefa2022"], loss=loss, weight_decay=weight_decay, epochs=epochs)  # type: ignore[arg-type]
    jobs = [(seed, 1.0) for seed in seeds]
    found = train_twins(model, data, jobs, recipe=how, vectors=read_vectors(inputs["dataset"]), device=current_device())
    measured = Base(model, data["test"])
    runs, _ = measured.measure([({"seed": twin.seed, "epoch": twin.epoch}, twin.model) for twin in found])
    about = {"base": base, "loss": loss, "weight_decay": weight_decay, **measured.facts()}
    about |= _named("base", _informed(measured.look, data["test"]))
    rows = []
    for row, twin in zip(runs.to_dict(orient="records"), found, strict=True):
        look = Reference.of(twin.model.network, measured.split)
        rows.append({**about, **_named("twin", {**row, **_informed(look, data["test"])})})
    return {"rows": rows}


@task("experiment/attended", version=1)
def attended(inputs: Mapping[str, Stored], *, bases: Sequence[int]) -> dict[str, Any]:
    """Of base models: what scores of their twins are read against, and what attention informative words get."""
    data = read_dataset(inputs["dataset"])
    rows = []
    for base in bases:
        found = Base(read_model(inputs["models"], base), data["test"])
        rows.append({"base": base, **found.facts(), **_informed(found.look, data["test"])})
    return {"rows": rows}


def _informed(look: Reference, examples: Sequence[TextExample]) -> dict[str, float]:
    """By class: how much attention informative words get, where it is known which they are."""
    if any(example.evidence is None for example in examples):
        return {}
    attention = look.attention.cpu().numpy()
    mass = [
        float(attention[row, 1 : len(example.tokens) + 1] @ np.array(example.evidence, dtype=float))
        for row, example in enumerate(examples)
    ]
    labels = np.array([example.label for example in examples])
    return {f"informed, class {label}": float(np.mean(np.array(mass)[labels == label])) for label in np.unique(labels)}


def _named(prefix: str, row: Mapping[Any, Any]) -> dict[str, Any]:
    return {f"{prefix} {name}": value for name, value in row.items()}


@task("experiment/search", version=1)
def budgets(
    inputs: Mapping[str, Stored],
    *,
    seed: int,
    instances: int,
    epsilon: float,
    steps: Sequence[int],
    rates: Sequence[float],
) -> dict[str, Any]:
    """How far the published search stays below the exact solution, over its budget."""
    data, model = read_dataset(inputs["dataset"]), read_model(inputs["models"], seed)
    network = attentive(model.network)
    split = EncodedSplit(drawn_examples(data["test"], instances), model.coder, model.device)
    rows = []
    with inspecting(network):
        views = [AttentionView(network, batch) for _, batch in split.in_order(1 << 14)]
    exact = torch.cat([vertex_adversary(view, epsilon).divergence for view in views])
    for form in ("code", "text"):
        for rate in rates:
            for number in steps:
                how = Search(form, steps=number, learning_rate=rate, epsilon=epsilon)
                found = torch.cat([search(view, how, seed=seed).best(epsilon)[0] for view in views])
                short = (exact - found).cpu().numpy()
                about = {"seed": seed, "epsilon": epsilon, "form": form, "rate": rate, "steps": number}
                rows.append(
                    {
                        **about,
                        "instances": len(short),
                        "exact": float(exact.mean()),
                        "found": float(found.mean()),
                        "shortfall": float(short.mean()),
                        "shortfall 95": float(np.quantile(short, 0.95)),
                        "short by 0.01": float((short > 0.01).mean()),
                        "nothing found": float((found == 0).double().mean()),
                    }
                )
    return {"rows": rows}


@task("experiment/padded-query", version=1)
def padded_query(
    inputs: Mapping[str, Stored], *, model: str, recipe: str, seeds: Sequence[int], instances: int, padded: bool
) -> dict[str, Any]:
    """Correlations of attention in a model of pairs whose other text is averaged with or without its padding.

    The average encoder of Jain and Wallace's code takes the mean over a batch's whole width, so that what a question
    says is diluted by what padding becomes (`Encoder.py`, 118). Batches have 128 pairs, as theirs.
    """
    data = read_dataset(inputs["dataset"])
    how: dict[str, Any] = {"recipe": recipe, "vectors": read_vectors(inputs["dataset"]), "device": current_device()}
    settings = Settings(0.0, (0.0,), permutations=2, search_steps=0, examples=0)
    test = sorted(drawn_examples(data["test"], instances), key=lambda one: len(one.tokens))
    records, tokens, metrics = [], [], []
    with averaged_with_padding() if padded else contextlib.nullcontext():
        for seed in seeds:
            made = TEXT_MODELS[model].train(data, [seed], **how)[0]
            parts = [
                attention_trial(made, test[start : start + 128], settings, seed=seed)
                for start in range(0, len(test), 128)
            ]
            whole = pd.concat([part.records for part in parts], ignore_index=True)
            records.append(whole.assign(seed=seed, instance=range(len(test)), dataset=data.name, model=model))
            tokens.append({name: np.concatenate([part.tokens[name] for part in parts]) for name in parts[0].tokens})
            right = float((whole["gold"] == whole["predicted"]).mean())
            metrics.append({"dataset": data.name, "model": model, "seed": seed, "metric": "accuracy", "value": right})
    about = pd.DataFrame(metrics)
    spread = seed_spread(tokens).assign(dataset=data.name, model=model)
    cells = cells_of(pd.concat(records, ignore_index=True), spread, about, epsilons={data.name: 0.0})
    kind = KINDS["attention-is-not-explanation"]
    rows = compared_rows(summarise(cells, about, pd.DataFrame()).scores, kind.published(), kind.margins())
    kept = ("quantity", "method", "compared_with", "value", "low", "high", "outcome")
    return {"rows": [{name: row[name] for name in kept} for row in rows if row["outcome"] is not None]}


@contextlib.contextmanager
def averaged_with_padding() -> Iterator[None]:
    """While it lasts, the average encoder sums up a text by the mean over the whole width of its batch."""
    before = Average.summary
    Average.summary = lambda self, states, text: states.mean(dim=1)  # type: ignore[method-assign]  # noqa: ARG005
    try:
        yield
    finally:
        Average.summary = before  # type: ignore[method-assign]


@task("experiment/masks", version=1)
def masks(
    inputs: Mapping[str, Stored],
    *,
    explainer: str,
    target: str,
    seeds: Sequence[int],
    amounts: Sequence[float],
    recipe: str,
    unit: Unit = "tokens",
    spare: int = 0,
) -> dict[str, Any]:
    """Recursive ROAR by explanations of the gold class, the predicted one, or a class shuffled among texts.

    Masks by shuffled classes hide what speaks for some class, but cannot tell the label. `amounts` are numbers of
    tokens, or shares of a text. Models have so many `spare` classes that no text belongs to.
    """
    data = read_dataset(inputs["dataset"])
    data = replace(data, classes=(*data.classes, *(f"spare {number}" for number in range(spare))))
    given: dict[str, Any] = {"recipe": recipe, "vectors": read_vectors(inputs["dataset"])}
    how = retraining_of(kinds.KINDS["text"], data, current_device(), "bilstm-additive", **given)
    rows = []
    hidings: list[Any] = [nothing for _ in seeds]
    for step in range(len(amounts) + 1):
        trained = retrain(how, seeds, hidings, leak=True)
        about = {"explainer": explainer, "target": target, f"hidden {unit}": ([0.0, *amounts])[step]}
        for seed, one in zip(seeds, trained, strict=True):
            told = {name: one.measured[name] for name in ("accuracy", "mask-only", "largest-class")}
            rows.append({**about, "seed": seed, **told})
        if step == len(amounts):
            break
        hidings = []
        for seed, one in zip(seeds, trained, strict=True):
            by_split = {
                name: hide(
                    one.model.network,
                    method_of(kinds.KINDS["text"], explainer, seed),
                    _shuffled(split, seed) if target == "shuffled" else split,
                    one.hidden[name],
                    [Amount(amounts[step], unit)],
                    target="predicted" if target == "predicted" else "gold",
                )[0]
                for name, split in one.splits.items()
            }
            hidings.append(lambda name, _, by_split=by_split: by_split[name])
    return {"rows": rows}


def _shuffled(split: EncodedSplit, seed: int) -> EncodedSplit:
    """The same texts with labels that belong to others."""
    order = np.random.default_rng([seed, *b"shuffled"]).permutation(len(split))
    other = copy.copy(split)
    other.labels = split.labels[torch.from_numpy(order).to(split.device)]
    return other
