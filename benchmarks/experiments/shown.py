"""What experiments found, in a few lines each: python -m benchmarks.experiments.shown FOLDER."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.stats

from benchmarks.experiments.arms import ARMS
from trueness.protocols.attefa.score import ONE_CLASS
from trueness.stats import area_between_curves, t_interval
from trueness.stats.corrections import holm
from trueness.stats.divergence import LN2
from trueness.studies import KINDS, load_study


def twins(rows: pd.DataFrame) -> pd.DataFrame:
    """By recipe: twins that predict one class for nearly all texts, means over base models, the published AtteFa."""
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
    found = bases.groupby(by).mean().assign(twins=rows.groupby(by).size())
    known = KINDS[load_study("attefa").kind].published()
    places = [("AtteFa", str(place[0]), str(place[1]), "twin@attefa2022") for place in found.index.to_list()]
    return found.assign(published=[float(known.get(place, {}).get("published", "nan")) for place in places])


def distances(rows: pd.DataFrame) -> pd.DataFrame:
    """How far AtteFa of each recipe lies from the published: of base models with which every recipe was tried."""
    place = ["dataset", "model", "base"]
    recipes = rows[[*place, "loss", "weight_decay"]].drop_duplicates().groupby(place).size()
    tried = rows.set_index(place).index.isin(recipes.index[recipes == 4])
    found = twins(rows[tried])
    far = (found["attefa"] - found["published"]).abs()
    where = found.reset_index("dataset")["dataset"].groupby(["model", "loss", "weight_decay"])
    by = far.groupby(["model", "loss", "weight_decay"])
    return by.agg(["mean", "median", "size"]).assign(datasets=where.agg(" ".join))


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


def leads(rows: pd.DataFrame) -> pd.DataFrame:
    """By corpus, model and arm: the faithfulness of attention less that of gradients, paired by seed.

    `p` is of a paired t-test, corrected by Holm over all rows.
    """
    seeds = rows[rows["seed"].notna() & (rows["quantity"] == "faithfulness")]
    found = []
    for (dataset, model), some in seeds.groupby(["dataset", "model"], sort=False):
        table = some.pivot_table(index="seed", columns=["arm", "method"], values="value")
        for arm in (name for name in ARMS if name in table):
            attention, gradient = table[arm]["attention"], table[arm]["gradient@madsen2022"]
            lead = t_interval((attention - gradient).dropna())
            p = float(scipy.stats.ttest_rel(attention, gradient, nan_policy="omit").pvalue)
            about = {"dataset": dataset, "model": model, "arm": arm, "n": lead.n}
            found.append({**about, "mean": lead.value, "low": lead.low, "high": lead.high, "p": p})
    shown = pd.DataFrame(found)
    return shown.assign(p=holm(shown["p"]))


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


def sizes(rows: pd.DataFrame) -> pd.DataFrame:
    """By score: its means over training sizes, and how much a doubling changes it on average.

    The slope of a straight line over the logarithm of the size, through independent means; its 95 % interval is of the
    errors that the means' own intervals tell. No line goes on for ever: it says nothing about larger sizes.
    """
    means = rows[rows["seed"].isna() & rows["low"].notna()].sort_values("size")
    found = []
    for place, some in means.groupby(["quantity", "model", "method", "variant"], sort=False):
        if len(some) < 3:
            continue
        doublings = np.log2(some["size"].to_numpy(dtype=float))
        errors = (some["high"] - some["low"]).to_numpy() / 2 / scipy.stats.t.ppf(0.975, some["n"] - 1)
        weights = (doublings - doublings.mean()) / ((doublings - doublings.mean()) ** 2).sum()
        slope, half = float(weights @ some["value"]), 1.96 * float(np.sqrt(weights**2 @ errors**2))
        row = dict(zip(("quantity", "model", "method", "variant"), place, strict=True))
        row |= {str(int(size)): value for size, value in zip(some["size"], some["value"], strict=True)}
        found.append({**row, "a doubling": slope, "low": slope - half, "high": slope + half})
    return pd.DataFrame(found)


def decays(rows: pd.DataFrame) -> pd.DataFrame:
    """By length of the vectors: the score with weight decay and without any, and the difference, paired by seed.

    `p` is of a paired t-test, corrected by Holm over all rows of one quantity.
    """
    seeds = rows[rows["seed"].notna() & rows["value"].notna()]
    found = []
    for place, some in seeds.groupby(["quantity", "model", "method", "arm"], sort=False):
        table = some.pivot_table(index="seed", columns="weight_decay", values="value")
        row = dict(zip(("quantity", "model", "method", "arm"), place, strict=True))
        both = {"with": table[1e-5], "without": table[0.0], "difference": table[0.0] - table[1e-5]}
        for name, values in both.items():
            mean = t_interval(values)
            row |= {name: mean.value, f"{name}, low": mean.low, f"{name}, high": mean.high}
        found.append({**row, "p": float(scipy.stats.ttest_rel(table[0.0], table[1e-5]).pvalue)})
    shown = pd.DataFrame(found)
    for _, some in shown.groupby("quantity"):
        shown.loc[some.index, "p"] = holm(some["p"])
    return shown


ALL_HIDDEN = {"babi-1@original": 0.170, "babi-2@original": 0.181}
"""Accuracy where all of a text is hidden: of the study (`results/recursive-roar/curves.csv`)."""


def faithful(rows: pd.DataFrame) -> pd.DataFrame:
    """By arm: accuracy at every share of hidden tokens, and the faithfulness of the arm against random masks."""
    by = [name for name in ("target", "spare") if name in rows and rows[name].nunique() > 1]
    found = []
    for (dataset, explainer, *rest), some in rows.groupby(["dataset", "explainer", *by], sort=False):
        of_random = rows[(rows["explainer"] == "random") & (rows["dataset"] == dataset)]
        if "spare" in by:
            of_random = of_random[of_random["spare"] == rest[by.index("spare")]]
        curves, random = (
            one.pivot_table(index="seed", columns="hidden share", values="accuracy") for one in (some, of_random)
        )
        everything = np.full((len(curves), 1), ALL_HIDDEN[str(dataset)])
        measured, baseline = (np.hstack([curve.to_numpy(), everything]) for curve in (curves, random))
        area = area_between_curves([*curves.columns, 1.0], measured, baseline)
        mean = t_interval([float(value) for value in area.value.values])
        row = {"dataset": dataset, "explainer": explainer, **dict(zip(by, rest, strict=True)), **curves.mean()}
        known = {} if explainer == "random" else {"faithfulness": mean.value, "low": mean.low, "high": mean.high}
        found.append({**row, **known})
    return pd.DataFrame(found)


def _attended(rows: pd.DataFrame) -> pd.DataFrame:
    """How many of the base models attend to the words of one class only: those of the other get less than a third."""
    known = rows.dropna(subset=["informed, class 0"])
    least = known[["informed, class 0", "informed, class 1"]].min(axis=1)
    by = known.assign(**{"one class only": least < 1 / 3, "least": least}).groupby(["dataset", "model"], sort=False)
    return by.agg(models=("base", "size"), **{"one class only": ("one class only", "sum"), "least": ("least", "min")})


def _babi(rows: pd.DataFrame) -> pd.DataFrame:
    by = ["dataset", "explainer", "target", "hidden tokens"]
    return rows.groupby(by)[["accuracy", "mask-only", "largest-class"]].mean()


VIEWS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "twin-grid": twins,
    "norms-sst": lengths,
    "norms-agnews": lengths,
    "norms-imdb": lengths,
    "integrated-gradients": _integrated,
    "search": _search,
    "babi": _babi,
    "babi-shares": faithful,
    "babi-classes": faithful,
    "decay": decays,
    "sizes": sizes,
    "attended": _attended,
}


def main(folder: Path) -> None:
    """Print all that are there."""
    for name, view in VIEWS.items():
        path = folder / f"{name}.json.gz"
        content = json.loads(gzip.decompress(path.read_bytes())) if path.exists() else {"rows": []}
        if content["rows"]:
            print(f"\n{name}: {content['complete']} of {content['arms']} arms")
            rows = pd.DataFrame(content["rows"])
            print(view(rows).to_string(float_format="{:.3f}".format, max_rows=400))
            if view is twins:
                print(distances(rows).to_string(float_format="{:.4f}".format))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
