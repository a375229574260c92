"""Recipes of training and fine-tuning are data: optimiser, loss, selection, what they say of the model's shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from trueness.registry import Registry

Divergence = Literal["jensen-shannon", "kullback-leibler"]
"""How twins are pushed away: Jensen-Shannon over ln 2 (AtteFa 2022), or Kullback-Leibler of the twin from the base
(Wiegreffe and Pinter 2019), made finite by a skew."""


@dataclass(frozen=True)
class Recipe:
    """How a classifier is trained: by Adam, of texts and vectors with AMSGrad, as in most of the papers."""

    epochs: int = 8
    batch_size: int = 32
    learning_rate: float = 1e-3
    weight_decay: float = 1e-5
    exempt: tuple[str, ...] = ("attention",)
    """Parts of the model without weight decay."""
    frozen: tuple[str, ...] = ()
    """Parts of the model that stay as they begin."""
    loss: Literal["mean", "sum"] = "mean"
    """Over the batch."""
    weigh_positive: bool = False
    """Weigh class 1 of two by N / N1 - 1."""
    select: Literal["auc", "accuracy", "macro-f1", "loss", "last"] = "accuracy"
    """The metric by which the best epoch is kept; auc is that of class 1 of two; with "last" the last epoch is kept."""
    select_on: Literal["dev", "test"] = "dev"
    skip_first: bool = False
    """The first epoch cannot be the best one."""
    patience: int | None = None
    """Stop after so many epochs without improvement."""
    stop_at: float | None = None
    """Stop once accuracy on the selection split reaches this (of rationale models, at their rate of selection) and keep
    that epoch."""
    clip: float | None = None
    """Largest norm of the gradient."""
    shape: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the model that the paper fixes together with the training."""


RECIPES: Registry[Recipe] = Registry("recipe")

_JW = Recipe(loss="sum", weigh_positive=True, select="auc", skip_first=True, shape={"one_logit": True, "hidden": 128})
_JW_PAIR = Recipe(
    epochs=25,
    batch_size=128,
    exempt=(),
    skip_first=True,
    shape={"hidden": 128, "head": "query", "shared_embedding": False},
)
_MADSEN = Recipe(select="auc", shape={"hidden": 128})
_MADSEN_PAIR = Recipe(
    epochs=25, batch_size=128, exempt=(), shape={"hidden": 128, "head": "query", "shared_embedding": False}
)
_BABI = {"hidden": 32, "embedding": 50}
_ZHOU = Recipe(epochs=100, batch_size=250, exempt=(), frozen=("embedding",), clip=5.0, stop_at=0.97)
_COURT = Recipe(epochs=40, batch_size=64, exempt=(), patience=5, shape={"hidden": 128})

RECIPES.add("default", Recipe(epochs=20, patience=4), "best development accuracy within 20 epochs")
RECIPES.add("demo", Recipe(epochs=4), "four epochs: a classifier within a minute")
RECIPES.add("default-pair", Recipe(epochs=20, patience=4, shape={"head": "query"}), "the same for pairs of texts")
RECIPES.add(
    "dry-run",
    Recipe(epochs=60, patience=15, stop_at=0.99),
    "until planted evidence is learned: development accuracy 0.99, within 60 epochs",
)
RECIPES.add(
    "dry-run-pair",
    Recipe(epochs=60, patience=15, stop_at=0.99, shape={"head": "query"}),
    "the same for pairs of texts",
)
RECIPES.add(
    "zhou2022",
    replace(_ZHOU, shape={"hidden": 200}),
    "Zhou et al. 2022: word vectors stay as they are, until development accuracy 0.97",
)
RECIPES.add(
    "rationale",
    replace(_ZHOU, batch_size=256, learning_rate=4e-4, weight_decay=2e-6, select="loss"),
    "rationale models as Zhou et al. 2022: until development accuracy 0.97 at a rate within 0.01 of its target",
)
RECIPES.add("jw2019", _JW, "Jain and Wallace 2019, single texts")
RECIPES.add("jw2019-pair", _JW_PAIR, "Jain and Wallace 2019, SNLI")
RECIPES.add(
    "jw2019-babi",
    replace(_JW_PAIR, epochs=100, batch_size=50, shape={**_JW_PAIR.shape, **_BABI}),
    "Jain and Wallace 2019, bAbI",
)
RECIPES.add("madsen2022", _MADSEN, "Madsen et al. 2022, single texts")
RECIPES.add("madsen2022-pair", _MADSEN_PAIR, "Madsen et al. 2022, SNLI")
RECIPES.add(
    "madsen2022-babi",
    replace(_MADSEN_PAIR, epochs=100, batch_size=50, shape={**_MADSEN_PAIR.shape, **_BABI}),
    "Madsen et al. 2022, bAbI",
)
RECIPES.add(
    "wiegreffe2019",
    replace(_JW, select_on="test", skip_first=False),
    "Wiegreffe and Pinter 2019 and AtteFa 2022: the best epoch is chosen on the test split",
)
# The paper's text says mean, the code it builds on (Wiegreffe and Pinter) sums. Adam forgets the scale of the loss, but
# weight decay is added to its gradient: under the mean, 1e-5 weighs 32 times as much, and twins give up the task.
_TWIN = Recipe(epochs=80, patience=10, select="loss", loss="sum")
RECIPES.add("twin", _TWIN, "an adversarial twin: 80 epochs at most, the least objective on the development split")
RECIPES.add("twin@attefa2022", replace(_TWIN, select_on="test"), "the same on the test split, as AtteFa 2022")
RECIPES.add(
    "court2022", replace(_COURT, select="auc", shape={**_COURT.shape, "one_logit": True}), "Order in the Court 2022"
)
RECIPES.add(
    "court2022-pair",
    replace(_COURT, shape={**_COURT.shape, "head": "concat"}),
    "Order in the Court 2022, pairs of texts",
)
RECIPES.add(
    "image",
    Recipe(epochs=50, batch_size=128, weight_decay=0.0, stop_at=0.97),
    "images as Zhou et al. 2022: Adam at its usual settings, until development accuracy 0.97",
)
RECIPES.add(
    "vector",
    Recipe(epochs=100, batch_size=64, weight_decay=1e-4, patience=10),
    "vectors: Adam, best development accuracy within 100 epochs",
)


SHORTEST = 16
"""Tokens that a transformer must read of a text, its own ones included."""


@dataclass(frozen=True)
class FineTuning:
    """How a transformer is fine-tuned."""

    epochs: int = 3
    batch_size: int = 16
    learning_rate: float = 2e-5
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.01
    """Of all but biases and layer norms."""
    warm_up: float = 0.06
    """Share of the steps over which the learning rate rises; then it falls linearly to 0."""
    decay: bool = True
    clip: float | None = 1.0
    select: Literal["accuracy", "macro-f1", "auc", "loss"] = "accuracy"
    patience: int | None = None
    """Stop after so many epochs without improvement."""
    stop_at: float | None = None
    """Stop once accuracy on the development split reaches this, and keep that epoch."""
    max_length: int | None = None
    """Tokens of a text that are read, at most; None: as many as the model can."""


FINE_TUNINGS: Registry[FineTuning] = Registry("fine-tuning recipe")
FINE_TUNINGS.add("fine-tune", FineTuning(), "a pretrained transformer: AdamW 2e-5, warm-up, linear decay, 3 epochs")
FINE_TUNINGS.add(
    "fine-tune@madsen2022",
    FineTuning(betas=(0.9, 0.98), clip=None),
    "a pretrained transformer as RoBERTa in Madsen et al. 2022",
)
FINE_TUNINGS.add(
    "fine-tune@court2022",
    FineTuning(40, 64, 1e-5, weight_decay=0.01, warm_up=0.0, decay=False, clip=None, patience=5),
    "a pretrained transformer as DistilBERT in Order in the Court 2022",
)

FINE_TUNINGS.add(
    "planted",
    FineTuning(10, learning_rate=1e-4, patience=4, stop_at=0.97),
    "until planted evidence is learned: development accuracy 0.97, within 10 epochs",
)
