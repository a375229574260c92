"""Texts with what the methods say of them, one above the other; and rationales, with what they found and missed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from trueness.protocols.ground_truth.summary import PLANTED
from trueness.protocols.result import Result
from trueness.report.heatmap import coloured


def strips(result: Result) -> list[dict[str, Any]]:
    """For each dataset and model its examples with every method's heat map; of a rationale, its words marked."""
    from markupsafe import Markup

    table = result.tables.get("strips")
    if table is None:
        return []
    found: dict[str, list[dict[str, Any]]] = {}
    for (dataset, model, variant, instance), some in table.groupby(
        ["dataset", "model", "variant", "instance"], sort=False
    ):
        first = some.iloc[0]
        scores = dict(zip(some["method"], some["scores"], strict=True))
        # Made by `coloured` and `selected`, which escape every word.
        rows = [(str(name), Markup(coloured(first["words"], values))) for name, values in scores.items()]
        if "rationale" in scores and PLANTED in scores:
            rows = [("rationale", Markup(selected(first["words"], scores["rationale"], scores[PLANTED])))]
        found.setdefault(f"{dataset}, {model}, {variant}", []).append(
            {"about": f"instance {instance}: predicted {first['predicted']}, gold {first['gold']}", "rows": rows}
        )
    return [{"where": where, "texts": texts} for where, texts in found.items()]


def selected(words: Sequence[str], chosen: Sequence[float], marks: Sequence[float]) -> str:
    """The words as HTML: what a rationale selects is underlined, evidence (mark 1) and decoys (mark -1) stand out."""
    spans = []
    for word, score, mark in zip(words, chosen, marks, strict=True):
        kinds = {"evidence": mark > 0, "decoy": mark < 0, "selected": score > 0}
        names = " ".join(name for name, holds in kinds.items() if holds)
        spans.append(f'<span class="{names}">{escape(word)}</span>' if names else escape(word))
    return " ".join(spans)
