"""The tests of attention of Jain and Wallace 2019 on one trained model: one record per instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch import Tensor

from trueness.explainers.gradients import gradient_of
from trueness.kinds.text.attention.ascent import best_adversary
from trueness.kinds.text.attention.correlation import correlations
from trueness.kinds.text.attention.permutation import permuted_logit, sampled_median
from trueness.kinds.text.attention.search import Found, Search, improved, search
from trueness.kinds.text.attention.view import AttentionView
from trueness.kinds.text.data.batches import Batch, EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.models.attentive import AttentiveClassifier, attentive
from trueness.kinds.text.models.classifier import Classifier
from trueness.models.network import inspecting
from trueness.stats.undefined import Floats

PUBLISHED_THRESHOLD = 0.05
"""The change up to which the authors' code counts an adversary; it optimises for 0.01, and the paper says 0.01."""
_LOO_BYTES = {"cpu": 256 << 20, "cuda": 512 << 20}  # of states; gates and workspace take several times that

Columns = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Settings:
    """What is measured."""

    epsilon: float = 0.01
    """The change of output (total variation) that an adversary may cause."""
    epsilons: tuple[float, ...] = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
    """The curve of the adversary over epsilon: the strongest, or the best found."""
    permutations: int = 100
    search_steps: int = 500
    """Steps of the published search; 0 leaves it out."""
    examples: int = 6
    """Instances kept with their words for heat maps."""


@dataclass(frozen=True)
class AttentionTrial:
    """The outcome for one model."""

    records: pd.DataFrame
    tokens: Mapping[str, npt.NDArray[Any]]
    """`sizes` of the instances, and the scores of all their tokens one after another: attention, gradient, ..."""
    examples: pd.DataFrame


def attention_trial(
    model: Classifier, examples: Sequence[TextExample], how: Settings, *, seed: int = 0
) -> AttentionTrial:
    """Correlation, permutation and adversarial attention of every example, and the scores themselves."""
    split = EncodedSplit(examples, model.coder, model.device)
    parts, flat = [], []
    for number, (rows, batch) in enumerate(split.in_order(1 << 16)):
        columns, scores = _batch(attentive(model.network), batch, how, seed=seed * 1_000_003 + number)
        inside = batch.mask.cpu().numpy()
        columns["instance"] = rows
        parts.append(pd.DataFrame(columns))
        flat += [
            (row, {name: values[index][inside[index]] for name, values in scores.items()})
            for index, row in enumerate(rows)
        ]
    records = pd.concat(parts).sort_values("instance", ignore_index=True)
    flat.sort(key=lambda item: item[0])
    tokens = {name: np.concatenate([scores[name] for _, scores in flat]).astype(np.float32) for name in flat[0][1]}
    tokens["sizes"] = records["length"].to_numpy(np.int32)
    return AttentionTrial(records, tokens, _shown(model, examples, records, tokens, how))


def _batch(network: AttentiveClassifier, batch: Batch, how: Settings, seed: int) -> tuple[Columns, dict[str, Floats]]:
    with inspecting(network):
        view = AttentionView(network, batch)
    kind = batch.tokens.device.type
    deleted = TEXT_EXPLAINERS[f"leave-one-out@jw2019[max_bytes={_LOO_BYTES.get(kind, 256 << 20)}]"]
    gradient, embeddings = gradient_of(network, batch, "predicted", output="probability")
    scores = {
        "attention": view.attention,
        "gradient@jw2019": TEXT_EXPLAINERS["gradient@jw2019"].attribute(network, batch),
        "full-gradient": (gradient * embeddings).sum(dim=-1).abs() * batch.mask,  # through attention too
        "leave-one-out@jw2019": deleted.attribute(network, batch),
    }
    plain = {name: _numpy(values.double()) for name, values in scores.items()}
    columns: Columns = {
        "length": _numpy(view.mask.sum(dim=-1)),
        "classes": np.full(len(view.mask), view.classes),
        "gold": _numpy(batch.labels),
        "predicted": _numpy(view.probability.argmax(dim=-1)),
        "probability": _numpy(view.probability.amax(dim=-1)),
        "max_attention": _numpy(view.attention.amax(dim=-1)),
        **correlations(plain, _numpy(view.mask)),
    }
    with torch.no_grad():
        found = _searches(view, how, seed) if how.search_steps else None
        columns |= _permutations(view, how, seed)
        more, plain["adversarial"] = _adversaries(view, how, found[1] if found else None)
        columns |= more | (found[0] if found else {})
    return columns, plain


def _permutations(view: AttentionView, how: Settings, seed: int) -> Columns:
    columns = {"permutation": _numpy(sampled_median(view, how.permutations, seed=seed))}
    if view.exact:
        closed = permuted_logit(view)
        columns |= {
            "permutation_closed": _numpy(closed.median_change()),
            "permuted_mean": _numpy(closed.mean),
            "permuted_deviation": _numpy(closed.deviation),
            "logit": _numpy(closed.observed),
        }
    return columns


def _adversaries(view: AttentionView, how: Settings, searched: Found | None) -> tuple[Columns, Floats]:
    """The adversary over epsilon, the strongest or the best found, and its attention at the main one."""
    columns: Columns = {}
    attention = begin = view.attention
    for epsilon in sorted({*how.epsilons, how.epsilon, PUBLISHED_THRESHOLD}):
        found = best_adversary(view, epsilon, begin)
        if searched is not None:
            found = improved(found, searched, epsilon)
        begin = found.attention
        columns[f"adversary {epsilon:g}"] = _numpy(found.divergence)
        columns[f"upper {epsilon:g}"] = _numpy(found.upper)
        if epsilon == how.epsilon:
            attention = found.attention
            columns |= {
                "exact": np.full(len(view.mask), found.exact),
                "alone": _numpy(found.alone),
                "deciding": _numpy(found.deciding),
                "change": _numpy(found.change),
                # Positions among the words: the begin marker does not count; -1 where there is no vertex.
                "first": np.maximum(_numpy(found.first) - 1, -1),
                "second": np.maximum(_numpy(found.second) - 1, -1),
                "weight": _numpy(found.weight),
            }
    return columns, _numpy(attention)


def _searches(view: AttentionView, how: Settings, seed: int) -> tuple[Columns, Found]:
    code = search(view, Search("code", steps=how.search_steps), seed=seed)
    text = search(view, Search("text", steps=how.search_steps, epsilon=how.epsilon), seed=seed)
    return {
        "search@jw2019": _numpy(code.best(PUBLISHED_THRESHOLD)[0]),
        "search_code": _numpy(code.best(how.epsilon)[0]),
        "search": _numpy(text.best(how.epsilon)[0]),
    }, text


def _shown(
    model: Classifier,
    examples: Sequence[TextExample],
    records: pd.DataFrame,
    tokens: Mapping[str, npt.NDArray[Any]],
    how: Settings,
) -> pd.DataFrame:
    """Some instances with their words: evenly spread over the divergence of their adversary."""
    short = records[records["length"] <= 120]
    order = (short if len(short) else records).sort_values(f"adversary {how.epsilon:g}", kind="stable")["instance"]
    chosen = order.iloc[np.unique(np.linspace(0, len(order) - 1, how.examples).round().astype(int))]
    ends = np.cumsum(tokens["sizes"])
    rows = []
    for instance in chosen:
        row, example = records.loc[instance], examples[instance]
        begin, end = ends[instance] - len(example.tokens), ends[instance]
        rows.append(
            {
                "instance": int(instance),
                "words": list(example.tokens),
                "other": " ".join(example.tokens_b or ()),
                **{
                    name: [round(float(value), 5) for value in tokens[name][begin:end]]
                    for name in ("attention", "adversarial")
                },
                "gold": model.classes[int(row["gold"])],
                "predicted": model.classes[int(row["predicted"])],
                "probability": float(row["probability"]),
                "change": float(row["change"]),
                "divergence": float(row[f"adversary {how.epsilon:g}"]),
                "exact": bool(row["exact"]),
            }
        )
    return pd.DataFrame(rows)


def _numpy(values: Tensor) -> npt.NDArray[Any]:
    return np.asarray(values.detach().cpu().numpy())
