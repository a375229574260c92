"""Decide the conclusions about AtteFa anew from the runs that are kept, without models.

    python tools/attefa_again.py results/attefa

What was measured stays as it is in `compare.json`. Scores of AtteFa* need more than `runs.csv` has, and stay as well.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from trueness.papers.attefa.claims import MEASURES, claims_by
from trueness.protocols.attefa.cell import TwinCell

NONE = pd.DataFrame({"what": [], "seed": [], "value": []})


def cells_of_runs(runs: pd.DataFrame) -> list[TwinCell]:
    """One for each dataset and model; base models are taken for such that do not name one class for all texts."""
    found = []
    for (dataset, model), some in runs.groupby(["dataset", "model"], sort=False):
        bases = tuple({"seed": int(base), "one_class": 0.0} for base in some["base"].unique())
        found.append(TwinCell(str(dataset), str(model), bases, some, NONE))
    return found


def again(content: dict[str, Any], runs: pd.DataFrame) -> dict[str, Any]:
    """The same comparison with today's conclusions."""
    (measure,) = (measure for measure in MEASURES if measure.asks_twins)
    new = {one.claim: one.model_dump() for one in claims_by(measure, cells_of_runs(runs))}
    return {**content, "claims": [new.get(one["claim"], one) for one in content["claims"]]}


def main(folder: Path) -> None:
    """Write compare.json in its place."""
    path = folder / "compare.json"
    content = again(json.loads(path.read_text(encoding="utf-8")), pd.read_csv(folder / "runs.csv"))
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
