"""What the pages of results show of `results/<study>/`: verdicts, agreement with the paper, causes, cells, a figure."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS, DOCS = ROOT / "results", ROOT / "docs"
STUDIES = {
    "attention-is-not-explanation": "Attention is not explanation (Jain and Wallace 2019)",
    "attefa": "AtteFa (2022)",
    "agreement": "Order in the Court (2022)",
    "recursive-roar": "Recursive ROAR (Madsen et al. 2022)",
    "ground-truth-text": "Planted evidence (Zhou et al. 2022)",
    "ground-truth-images": "Planted artefacts in images (Zhou et al. 2022, section 5)",
    "roar-synthetic": "ROAR on synthetic vectors (Madsen et al. 2022, section 3.3)",
}
ALSO = {
    "recursive-roar": {"minilm.json": "MiniLM"},
    "ground-truth-text": {"rationales.json": "rationale models"},
    "ground-truth-images": {"pretrained.json": "a pretrained network"},
}
"""Other files of a study whose claims and cells count, beside compare.json, and what they are about."""
UNKNOWN = "unknown"
APART = "the authors' own two runs lie apart"


def read(file: str) -> dict[str, Any]:
    """A file of results, which must be of today's form."""
    from trueness.report.compare import SCHEMA

    found: dict[str, Any] = json.loads((RESULTS / file).read_text(encoding="utf-8"))
    if found.get("schema") != SCHEMA:
        raise SystemExit(f"results/{file} is of another form; make it again with the commands of its README.md.")
    return found


def files(study: str) -> list[str]:
    """All of a study's files that count."""
    return list(_about(study))


def vectors(study: str) -> str:
    """The share of tokens without a word vector, dataset by dataset; in bold where it is a warning."""
    from trueness.report.vectors import MANY

    found = {name: one for file in files(study) for name, one in read(file).get("vectors", {}).items()}
    if not found:
        return "No word vectors were used.\n"
    shares = []
    for name, one in found.items():
        share = f"{name} {one['without']:.1%}"
        shares.append(f"**{share}**" if one["without"] > MANY else share)
    used = ", ".join(sorted({one["vectors"] for one in found.values()}))
    bold = f" (bold: over {MANY:.0%}, a warning)" if any("**" in share for share in shares) else ""
    return f"Tokens without a word vector in {used}{bold}: {', '.join(shares)}.\n"


def table(header: list[str], rows: list[list[str]]) -> str:
    """In Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def totals() -> str:
    """How many published cells agree, differ and cannot be told: in all, by quantity, and of each study."""
    rows = judged_rows()
    found, perfect = _found(rows), expected(rows)
    alike = len({(row["study"], row["dataset"], row["model"], row["method"]) for row in rows})
    left = sum(row["published"] is None for row in rows)
    unknown = sum(cause == UNKNOWN for study in STUDIES for _, cause, _ in differing(study))
    half, twice = (judged_by(factor) for factor in (0.5, 2.0))
    apart = sum(counts(study)["stand-ins"]["compared"] for study in STUDIES)
    text = (
        f"**Of {len(rows)} published values {found['agrees']} agree with ours, {found['differs']} differ and "
        f"{found['cannot tell']} are open. If every experiment replicated perfectly, {_whole(perfect)} would be "
        "expected**: a published value is one run of the authors, and ours is the mean of a few.\n\n"
        f"The values belong to {alike} combinations of corpus, model and method. {left} stand only in files that the "
        f"authors left beside their code. Of the {found['differs']} that differ, the cause of {unknown} is unknown. "
        f"With half of every margin {half['agrees']} would agree and {half['differs']} differ, with twice the margin "
        f"{twice['agrees']} and {twice['differs']}.\n\n"
        f"{apart} more were measured on another model or corpus than the paper's. They show whether a finding carries "
        "over, and are not counted.\n\n"
    )
    header = ["agree", "differ", "open"]
    by_study = [
        [f"[{title}](results/{study}.md)", *_beside([row for row in rows if row["study"] == study]), _apart(study)]
        for study, title in STUDIES.items()
        if any(row["study"] == study for row in rows)
    ]
    quantities = dict.fromkeys(_quantity(row) for row in rows)
    by_quantity = [[name, *_beside([row for row in rows if _quantity(row) == name])] for name in quantities]
    both = table(["paper", *header, "not measured"], by_study), table(["quantity", *header], by_quantity)
    return text + "In brackets: what perfect replication would give.\n\n" + "\n".join(both)


def judged_rows() -> list[dict[str, Any]]:
    """Every published cell of a paper's own models that was judged, with its study."""
    every = ({**row, "study": study} for study in STUDIES for file in files(study) for row in read(file)["rows"])
    return [row for row in every if row["outcome"] is not None and not row["stand_in"]]


def expected(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """How many cells would agree, differ and be open if ours and the authors' models were drawn alike.

    A published value is then one run, whose spread is the margin over the root of two (the margin is how far two runs
    lie apart); ours is a mean with a spread of its own. Their difference is normal, and what follows from it is the
    rule of `equivalence`: within the margin by half an interval, or beyond it by as much.
    """
    from scipy.stats import norm, t

    found = dict.fromkeys(OUTCOMES, 0.0)
    for row in rows:
        half = 0.0 if row["low"] is None else (row["high"] - row["low"]) / 2
        ours = half / t.ppf(0.975, max(row["n"] - 1, 1))
        spread = math.hypot(row["margin"] / math.sqrt(2), ours)
        agrees = max(0.0, 2 * norm.cdf((row["margin"] - half) / spread) - 1)
        differs = 2 * norm.sf((row["margin"] + half) / spread)
        for name, share in zip(OUTCOMES, (agrees, differs, 1 - agrees - differs), strict=True):
            found[name] += float(share)
    return found


def _found(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    return {name: sum(row["outcome"] == name for row in rows) for name in OUTCOMES}


def _whole(expected: dict[str, float]) -> str:
    return ", ".join(f"{expected[name]:.0f}" for name in OUTCOMES[:2]) + f" and {expected[OUTCOMES[2]]:.0f}"


def _beside(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What was found, and in brackets what perfect replication gives."""
    found, perfect = _found(rows), expected(rows)
    return [f"{found[name]} ({perfect[name]:.0f})" for name in OUTCOMES]


def _quantity(row: dict[str, Any]) -> str:
    """Of which quantity a cell is, without the class or form it was taken for."""
    return re.split(r", | \(", row["quantity"])[0]


def _apart(study: str) -> str:
    return str(counts(study)["not measured"])


OUTCOMES = "agrees", "differs", "cannot tell"
_COUNTS = *OUTCOMES, "compared"


def judged_by(factor: float) -> dict[str, int]:
    """How many cells of all studies would agree, differ and not be told, with every margin times a factor."""
    from trueness.report.compare import judged
    from trueness.studies import KINDS, load_study

    found = dict.fromkeys(OUTCOMES, 0)
    for content in (read(file) for study in STUDIES for file in files(study)):
        kind = KINDS[load_study(content["study"]).kind]
        for row in judged(content["rows"], kind.published(), kind.margins(), factor):
            if row["outcome"] is not None and not row["stand_in"]:
                found[row["outcome"]] += 1
    return found


def counts(study: str) -> dict[str, Any]:
    """The published cells of a study, over its files, none of which has a cell of another."""
    parts = [read(file)["agreement"] for file in files(study)]
    own, apart = (
        {name: sum(part[name] for part in some) for name in _COUNTS}
        for some in (parts, [part["stand-ins"] for part in parts])
    )
    elsewhere = sum(part["compared"] + part["stand-ins"]["compared"] for part in parts[1:])
    return {"own": own, "stand-ins": apart, "not measured": parts[0]["not measured"] - elsewhere}


def verdicts() -> str:
    """Every claim of every study, what decides and where the evidence is; asked again elsewhere, how many stay."""
    parts = []
    for study, title in STUDIES.items():
        first, *others = _about(study).items()
        shown = [(one, "") for one in read(first[0])["claims"]]
        known, again = {one["claim"]: one["verdict"] for one, _ in shown}, []
        for file, about in others:
            claims_there = read(file)["claims"]
            shown += [(one, about) for one in claims_there if one["claim"] not in known]
            verdicts_there = [(one["claim"], one["verdict"]) for one in claims_there if one["claim"] in known]
            if verdicts_there:
                alike = sum(known[name] == verdict for name, verdict in verdicts_there)
                again.append(f"{alike} of {len(verdicts_there)} for{about.replace('(', '').rstrip(')')}")
        rows = _verdict_rows(shown, f"{study}-cells.md")
        told = f"\nRepeated elsewhere, verdicts stay: {'; '.join(again)}.\n" if again else ""
        name = title.partition(" (")[0]
        parts.append(f"## [{name}]({study}.md)\n\n{table(['claim', 'verdict', 'one number'], rows)}{told}")
    return "\n".join(parts)


def _about(study: str) -> dict[str, str]:
    """A study's files, and in brackets what those beside compare.json are about."""
    return {
        f"{study}/compare.json": "",
        **{f"{study}/{file}": f" ({what})" for file, what in ALSO.get(study, {}).items()},
    }


def _verdict_rows(shown: list[tuple[dict[str, Any], str]], link: str) -> list[list[str]]:
    """A row for each claim; one that was asked in two ways, which it names in brackets at its end, has one row."""
    found: dict[str, list[list[str]]] = {}
    for one, about in shown:
        claim, number = _short(f"{one['claim']}{about}"), _short(one_number(one))
        stem, way = re.match(r"(.*?)(?: \(([^()]*)\))?$", claim).groups()  # type: ignore[union-attr]
        found.setdefault(stem, []).append([claim, f"[**{one['verdict']}**]({link})", number, way or ""])
    rows = []
    for stem, some in found.items():
        if len(some) == 1:
            rows.append(some[0][:3])
        else:
            told = "<br>".join(f"{verdict} ({way})" for _, verdict, _, way in some)
            rows.append([stem, told, "<br>".join(number for _, _, number, _ in some)])
    return rows


_SHORTER = {
    r"birds with |, resnet-34|: roar-synthetic(?=[^)]*\))[^)]*| \(rank correlation of 0\.5\)| over 50 draws": "",
    r", as published(?=:)": "",
    r" \(counted up to a change of 0\.05\)| \(ln 2 is 0\.693\)| \(as its text says and as its code does it\)": "",
    "mean accuracy: recursive-roar": "accuracy",
    "the mean difference is largest at": "largest mean difference, at",
    "its accuracy, averaged over steps, less that of the ground-truth order:": "its accuracy differs by",
    r", 95 % interval ([-+.\d]+) to ([-+.\d]+)": r" (\1 to \2)",
}


def _short(words: str) -> str:
    """Without what all places of a study have in common, or its page says."""
    for what, instead in _SHORTER.items():
        words = re.sub(what, instead, words)
    return words


def in_short(evidence: str) -> str:
    """How often it holds, or why that cannot be told, and the first place's number with its interval."""
    told, first = _parted(evidence)
    return f"{told}; {first}" if first else told


def one_number(claim: dict[str, Any]) -> str:
    """The first place's number with its interval; how often it holds where places differ and most decide."""
    told, first = _parted(claim["evidence"])
    runs = re.search(r"\d+ of \d+ runs", claim["evidence"])
    counts = re.match(r"(\d+) of (\d+)", told)
    if claim["verdict"] == "supported" and counts and counts[1] != counts[2]:
        return told
    return runs[0] if runs else first or re.sub(r", ground-truth.*", "", told)


def _parted(evidence: str) -> tuple[str, str]:
    """How often it holds, and of the first place what was measured, the number."""
    lead, _, places = evidence.partition(". ")
    counts = re.search(r"\d[\d,]* of \d[\d,]* [a-z]+(?: and models)?", lead.partition("; ")[0])
    told = counts[0] if counts else lead.partition(":")[0] if places else lead.partition("; ")[0]
    first = re.match(r"([^:;]+): ([^;]*?)([-+]?\d+\.\d+(?![\de])(?: \([-\d.]+ to [-\d.]+\))?)", places)
    if not first:
        return told, ""
    return told, " ".join(f"{first[1]}: {first[2]}{first[3]}".split())


def claims(file: str) -> str:
    """Claims, verdicts, and what they rest on in short."""
    rows = [[claim["claim"], f"**{claim['verdict']}**", in_short(claim["evidence"])] for claim in read(file)["claims"]]
    return table(["claim", "verdict", "in short"], rows)


def evidence(study: str) -> str:
    """Claims, verdicts and all evidence, of every file of a study."""
    rows = [
        [claim["claim"] + about, f"**{claim['verdict']}**", claim["evidence"]]
        for file, about in _about(study).items()
        for claim in read(file)["claims"]
    ]
    return table(["claim", "verdict", "evidence"], rows)


def agreement(file: str) -> str:
    """Beside the published values, by kind of quantity."""
    from trueness.report.compare import sentences

    found, study = read(file)["agreement"], file.partition("/")[0]
    if study in STUDIES:  # what other files have is not missing
        found = {**found, "not measured": counts(study)["not measured"] if file == files(study)[0] else 0}
    told = list(sentences(found))[: -len(found["quantities"]) or None]
    first = " ".join(told) or "No published value has a spread that a margin could be taken from."
    rows = []
    for part in found["quantities"]:
        tau = part["rank correlation"]
        name = part["group"] + _bracketed(part["stand-in"])
        far = [f"{part['mean absolute error']:.3g}", "–" if tau is None else f"{tau:.2f}"]
        found = ["–", "–", "–"] if part["stand-in"] else [str(part[one]) for one in OUTCOMES]
        rows.append([name, f"{part['margin']:.3g}", *found, *far, part["from"]])
    header = ["quantity", "margin", "agree", "differ", "cannot tell", "mean absolute error", "rank correlation"]
    return f"{first}\n" + (f"\n{table([*header, 'margin from'], rows)}" if rows else "")


def _bracketed(stand_in: str) -> str:
    return f" ({stand_in})" if stand_in else ""


def differing(study: str) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Each published cell of the paper's own models that differs, with its tested cause or the word unknown."""
    known = RESULTS / study / "causes.csv"
    causes = list(csv.DictReader(known.read_text(encoding="utf-8").splitlines())) if known.exists() else []
    for row in (row for file in files(study) for row in read(file)["rows"]):
        if row["outcome"] == "differs" and not row["stand_in"]:
            fits = (
                one
                for one in causes
                if all(fnmatchcase(row[name], one[name]) for name in ("quantity", "dataset", "model", "method"))
            )
            one = next(fits, {"cause": "", "tested": ""})
            if one["tested"]:
                yield row, one["cause"], one["tested"]
            elif between_runs(row):
                yield row, APART, "they differ by more than the margin, ours from the second by no more"
            else:
                yield row, UNKNOWN, one["cause"]


def between_runs(row: dict[str, Any]) -> bool:
    """Whether the authors' two runs lie apart by more than the margin, and ours from the second by no more."""
    published, second, margin = row["published"], row["second_run"], row["margin"]
    if published is None or second is None:
        return False
    return bool(abs(published - second) > margin >= abs(row["value"] - second))


def causes(study: str) -> str:
    """Why cells differ: a row for each cause that was tested, or that was tried or suspected and not shown."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row, cause, about in differing(study):
        found.setdefault((cause, about), []).append(row)
    rows = []
    for (cause, about), some in sorted(found.items(), key=lambda item: -len(item[1])):
        where = ", ".join(dict.fromkeys(row["dataset"] for row in some))
        rows.append([str(len(some)), where, f"**{cause}**", about or "–"])
    if not rows:
        return "No published value surely differs.\n"
    return table(["cells that differ", "of", "cause", "tested, or suspected and not shown"], rows)


def cells(study: str) -> str:
    """A page of the evidence for every claim, and of every published cell beside ours."""
    named = {_key(row): cause for row, cause, _ in differing(study)}
    rows = []
    for row in (row for file in files(study) for row in read(file)["rows"]):
        if row["outcome"] is None:
            continue
        interval = "–" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}"
        if "the same value every time" in row["note"]:
            interval = "the same every time"
        place = [row[name] for name in ("quantity", "dataset", "model", "method")]
        numbers = [
            f"{row['compared_with']:.3g}",
            f"{row['value']:.3f}",
            interval,
            str(row["n"]),
            f"{row['margin']:.3g}",
        ]
        outcome = f"not judged ({row['stand_in']})" if row["stand_in"] else row["outcome"]
        rows.append([*place, *numbers, outcome, named.get(_key(row), "")])
    header = ["quantity", "dataset", "model", "method", "published", "ours", "95 % interval", "n", "margin", "outcome"]
    made = f"Made by `tools/update_docs.py` from `results/{study}/`. [Back]({study}.md)"
    text = f"# All evidence: {STUDIES[study]}\n\n{made}\n\n## Claims\n\n{evidence(study)}\n"
    return text + (f"## Published cells\n\n{table([*header, 'cause'], rows)}" if rows else "")


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("quantity", "dataset", "model", "method", "variant"))


def draw(study: str) -> None:
    """Ours against the published values, one panel for each kind of quantity."""
    import pandas as pd

    from trueness.report.figure import GREEN, GREY, VERMILION, Figure, all_at_once, layer, names_to, numbers, panels

    every = (row for file in files(study) for row in read(file)["rows"])
    rows = pd.DataFrame(
        [{**row, "group": row["group"] + _bracketed(row["stand_in"])} for row in every if row["outcome"] is not None]
    )
    if not len(rows):
        return
    rows = rows[["group", "compared_with", "value", "low", "high", "outcome", "margin"]]
    shown = [name for name, some in rows.groupby("group", sort=False) if len(some) > 2] or list(rows["group"].unique())
    rows = rows[rows["group"].isin(shown)]
    colour = names_to("outcome", {"agrees": GREEN, "differs": VERMILION, "cannot tell": GREY})
    rows = rows.assign(lower=rows["compared_with"] - rows["margin"], upper=rows["compared_with"] + rows["margin"])
    here = {
        "x": numbers(
            "compared_with", title="published", scale={"zero": False}, axis={"tickCount": 4, "labelFlush": False}
        )
    }
    value = numbers("value", title="ours", scale={"zero": False})
    within = {**here, "y": numbers("lower", title="ours"), "y2": {"field": "upper"}}
    interval = {**here, "y": numbers("low"), "y2": {"field": "high"}, "color": colour}
    layers = [
        layer("area", within, color="#DDDDDD", opacity=0.6),
        layer("rule", interval, only="datum.low !== null", opacity=0.4),
        layer("point", {**here, "y": value, "color": colour}, filled=True, size=28, opacity=0.9),
    ]
    spec = all_at_once(
        rows,
        columns=3,
        facet=panels(rows, "group"),
        spec={"width": 230, "height": 200, "layer": layers},
        resolve={"scale": {"x": "independent", "y": "independent"}},
    )
    figure = Figure(f"published-{study}", "", "", spec)
    (DOCS / "images" / f"published-{study}.png").write_bytes(figure.drawn("png"))


def draw_pairs() -> None:
    """Agreement of all pairs of methods on SST, a figure for each model."""
    import pandas as pd

    from trueness.papers.agreement.figures import figures
    from trueness.protocols.agreement.measures import TAU
    from trueness.protocols.result import Result

    means = pd.read_csv(RESULTS / "agreement" / "seeds.csv").rename(columns={"mean": TAU})
    here = means[(means["dataset"] == "sst@court2022") & (means["variant"] == "corrected")]
    for model, some in here.groupby("model"):
        (figure,) = figures(Result(some))
        (DOCS / "images" / f"agreement-sst-{model}.png").write_bytes(figure.drawn("png"))


def draw_lengths() -> None:
    """What the lengths of word vectors do to faithfulness, and to agreement with attention, by corpus."""
    import gzip

    import pandas as pd
    from benchmarks.experiments.shown import lengths

    from trueness.report.figure import BLUE, ORANGE, Figure, all_at_once, layer, names, names_to, numbers, panels

    corpora = {"sst": "SST", "agnews": "AG News", "imdb": "IMDB"}
    parts = []
    for name, corpus in corpora.items():
        packed = (RESULTS / "experiments" / f"norms-{name}.json.gz").read_bytes()
        parts.append(lengths(pd.DataFrame(json.loads(gzip.decompress(packed))["rows"])).assign(corpus=corpus))
    every = pd.concat(parts, ignore_index=True)
    models = {"bilstm-additive": "BiLSTM", "cnn-additive": "CNN", "average-additive": "average"}
    kinds = {
        "word-vectors": ("faithfulness", {"attention": "attention", "gradient@madsen2022": "gradients"}),
        "word-vectors-agreement": (
            "tau",
            {"attention, gradient@jw2019": "gradients", "attention, leave-one-out@jw2019": "leave-one-out"},
        ),
    }
    for name, (quantity, methods) in kinds.items():
        rows = every[(every["quantity"] == quantity) & every["method"].isin(list(methods))]
        rows = rows[["corpus", "model", "method", "arm", "mean", "low", "high"]]
        rows = rows.assign(place=rows["corpus"] + ", " + rows["model"].map(models), method=rows["method"].map(methods))
        colour = names_to("method", dict(zip(methods.values(), (ORANGE, BLUE), strict=True)))
        across = names("arm", sort=list(rows["arm"].unique()), axis={"labelAngle": -40})
        here = {"x": across, "xOffset": {"field": "method"}, "color": colour}
        title = "faithfulness" if quantity == "faithfulness" else "Kendall's tau with attention"
        layers = [
            layer("rule", {"y": {"datum": 0}}, color="#999999"),
            layer("rule", {**here, "y": numbers("low", title=title), "y2": {"field": "high"}}, strokeWidth=2),
            layer("point", {**here, "y": numbers("mean", title=title)}, filled=True, size=40, opacity=1),
        ]
        spec = all_at_once(
            rows, columns=3, facet=panels(rows, "place"), spec={"width": 210, "height": 130, "layer": layers}
        )
        (DOCS / "images" / f"{name}.png").write_bytes(Figure(name, "", "", spec).drawn("png"))
