"""Attr% of every saliency map beside the region's size and the published value; and the runs."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from trueness.protocols.result import Result
from trueness.report.table import NOTHING, Table, published_value
from trueness.studies.kinds import Published


def tables(result: Result, published: Published) -> Iterator[Table]:
    """The first question as a table, then how many runs there are of each question."""
    rows = []
    for score in result.scores:
        if score.quantity == "attribution share":
            key = ("attribution share", score.dataset, score.model, score.method)
            ends = NOTHING if score.low is None else f"{score.low:.3f} to {score.high:.3f}"
            size = NOTHING if score.null is None else f"{score.null:.3f}"
            place = (score.dataset, score.model, score.method)
            rows.append((*place, published_value(published.get(key)), f"{score.value:.3f}", ends, size, str(score.n)))
    header = ("images", "model", "explainer", "paper", "attribution share", "95 % interval", "region", "runs")
    caption = (
        "Attr%: of all magnitude of a map, the share inside the effective region; a constant map gets the region's "
        "share of the image. Only runs above 95 % test accuracy, in which only the artefact tells the label."
    )
    yield Table("attribution", "Attr% by saliency map and artefact", caption, header, tuple(rows))
    yield _runs(result.tables["runs"])


def _runs(runs: pd.DataFrame) -> Table:
    rows = []
    for place, some in runs.groupby(["dataset", "model", "artefact", "question"], sort=False):
        near = int((some["accuracy"] > 0.95).sum())
        texts = (str(len(some)), str(near), f"{some['accuracy'].min():.3f}", f"{some['epochs'].mean():.0f}")
        rows.append((*map(str, place), *texts))
    header = ("images", "model", "artefact", "question", "runs", "above 95 %", "lowest accuracy", "epochs, mean")
    caption = "A run trains one model on one pair of classes with one artefact; test accuracy is on images of its own."
    return Table("runs", "How the models did", caption, header, tuple(rows))
