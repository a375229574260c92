"""What experiments found, in a few lines each: python -m benchmarks.experiments.shown FOLDER."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import scipy.stats

from benchmarks.experiments.arms import ARMS
from trueness.protocols.attefa.score import ONE_CLASS
from trueness.stats import t_interval
from trueness.stats.corrections import holm
from trueness.stats.divergence import LN2


def _twins(rows: pd.DataFrame) -> pd.DataFrame:
    """By recipe: twins that predict one class for nearly all texts, and means over base models."""
    rows = rows.assign(
        collapsed=rows["twin one_class"] > ONE_CLASS,
        attefa=(rows["twin change"] / (rows["twin divergence"] / LN2)).clip(upper=1.0),
    )
    by = ["dataset", "model", "loss", "weight_decay"]
    shown = [
        "collapsed",
        "attefa",
        "twin divergence",
        "twin performance",
        *(name for name in map(str, rows) if "informed" in name),
    ]
    bases = rows.groupby([*by, "base"])[shown].mean()
    return bases.groupby(by).mean().assign(twins=rows.groupby(by).size())


COLUMNS = ["quantity", "model", "method", "arm", "n", "mean", "low", "high", "less", "difference", "more", "p"]


def lengths(rows: pd.DataFrame) -> pd.DataFrame:
    """By arm: faithfulness and tau with intervals over seeds, and the difference from GloVe, paired by seed.

    `p` is of a paired t-test, corrected by Holm over all differences of one quantity.
    """
    seeds = rows[rows["seed"].notna() & rows["value"].notna()]
    found = []
    for (quantity, model, method), some in seeds.groupby(["quantity", "model", "method"], sort=False):
        table = some.pivot_table(index="seed", columns="arm", values="value")
        for arm in (name for name in ARMS if name in table):
            mean = t_interval(table[arm].dropna())
            about = {"quantity": quantity, "model": model, "method": method, "arm": arm, "n": mean.n}
            row = {**about, "mean": mean.value, "low": mean.low, "high": mean.high}
            if arm != "glove" and "glove" in table:
                both = table[[arm, "glove"]].dropna()
                apart = t_interval(both[arm] - both["glove"])
                row |= {"less": apart.low, "difference": apart.value, "more": apart.high}
                row["p"] = float(scipy.stats.ttest_rel(both[arm], both["glove"]).pvalue)
            found.append(row)
    shown = pd.DataFrame(found, columns=COLUMNS)
    for _, some in shown[shown["p"].notna()].groupby("quantity"):
        shown.loc[some.index, "p"] = holm(some["p"])
    return shown


def _integrated(rows: pd.DataFrame) -> pd.DataFrame:
    """The difference, correct less published, paired by seed."""
    seeds = rows[rows["seed"].notna()].pivot_table(index="seed", columns="method", values="value", dropna=False)
    apart = t_interval((seeds["integrated-gradients"] - seeds["integrated-gradients@madsen2022"]).dropna())
    return pd.DataFrame(
        [{**seeds.mean(), "difference": apart.value, "less": apart.low, "more": apart.high, "n": apart.n}]
    )


def _search(rows: pd.DataFrame) -> pd.DataFrame:
    wanted = ["exact", "found", "shortfall", "short by 0.01", "nothing found"]
    return rows.groupby(["epsilon", "form", "rate", "steps"])[wanted].mean()


def _babi(rows: pd.DataFrame) -> pd.DataFrame:
    by = ["dataset", "explainer", "target", "hidden tokens"]
    return rows.groupby(by)[["accuracy", "mask-only", "largest-class"]].mean()


VIEWS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "twin-grid": _twins,
    "norms-sst": lengths,
    "norms-agnews": lengths,
    "norms-imdb": lengths,
    "integrated-gradients": _integrated,
    "search": _search,
    "babi": _babi,
}


def main(folder: Path) -> None:
    """Print all that are there."""
    for name, view in VIEWS.items():
        path = folder / f"{name}.json.gz"
        content = json.loads(gzip.decompress(path.read_bytes())) if path.exists() else {"rows": []}
        if content["rows"]:
            print(f"\n{name}: {content['complete']} of {content['arms']} arms")
            print(view(pd.DataFrame(content["rows"])).to_string(float_format="{:.3f}".format, max_rows=400))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
