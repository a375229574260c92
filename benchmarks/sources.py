"""Which passage does the answer of a language model come from, and which explanation can tell?

`python -m benchmarks.sources MODEL --out results/sources` plants facts among plain sentences, in four scenes (unique,
decoy, conflict, redundant) and among several numbers of passages, and measures every explainer, the model's own
citations, and foils that see no model. MODEL is a folder with a language model and its tokeniser, or a GGUF file.
Nothing is downloaded. It leaves cases.csv.gz, summary.csv, by-place.csv and facts.csv there; scenes that are there
already are not computed again.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import pandas as pd

from trueness.kinds.prompt.explainers.catalogue import PROMPT_EXPLAINERS
from trueness.kinds.prompt.models.opening import open_model
from trueness.kinds.prompt.scenes import SCENES
from trueness.kinds.prompt.sources import measured, planted, summary

EXPLAINERS = (
    *("leave-one-out", "context-cite", "attention", "attention-last", "attention-rollout", "gradient"),
    *("input-x-gradient", "integrated-gradients", "overlap-question", "overlap-answer", "position", "position-first"),
    "random",
)
FACTS = ("cases", "decided", "one copy alone", "seconds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("model", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/sources"))
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--passages", default="4,8,20", help="numbers of passages, with commas between them")
    parser.add_argument("--sentences", default="1", help="sentences of a passage, likewise")
    parser.add_argument("--scenes", default=",".join(SCENES))
    parser.add_argument("--explainers", default=";".join(EXPLAINERS), help="with semicolons between them")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="no scene is begun after so many")
    given = parser.parse_args()
    run(given)


def run(given: argparse.Namespace) -> None:
    begin, parts = time.monotonic(), given.out / "parts" / given.model.name
    parts.mkdir(parents=True, exist_ok=True)
    model = open_model(given.model, given.device)
    names = given.explainers.split(";")
    for sentences in map(int, given.sentences.split(",")):
        for passages in map(int, given.passages.split(",")):
            for scene in given.scenes.split(","):
                file = parts / f"{scene}-{passages}-{sentences}.csv"
                if file.exists() or time.monotonic() - begin > given.seconds:
                    continue
                started = time.monotonic()
                # The facts of the paper's setting: no third passage repeats the values of a conflict.
                cases = planted(scene, given.cases, passages, sentences=sentences, alike=False, seed=given.seed)
                explainers = {name: PROMPT_EXPLAINERS[name] for name in names}
                found, facts = measured(model, cases, explainers, cite=True)
                facts |= {"scene": scene, "passages": passages, "sentences": sentences, "model": given.model.name}
                facts["seconds"] = round(time.monotonic() - started, 1)
                about = {name: facts[name] for name in ("model", "scene", "passages", "sentences")}
                found.assign(**about).to_csv(file, index=False, float_format="%.4g")
                file.with_suffix(".json").write_text(json.dumps(facts))
                print(json.dumps(facts), flush=True)
    write(given.out)


def write(out: Path) -> None:
    """All parts together."""
    files = sorted(out.glob("parts/*/*.csv"))
    tables = [table for file in files if file.stat().st_size > 2 and len(table := pd.read_csv(file))]
    facts = pd.DataFrame([json.loads(file.with_suffix(".json").read_text()) for file in files])
    facts = facts.reindex(columns=["model", "scene", "passages", "sentences", *FACTS])
    facts.to_csv(out / "facts.csv", index=False)
    if not tables:
        return
    cases = pd.concat(tables, ignore_index=True)
    cases.to_csv(out / "cases.csv.gz", index=False)
    by: list[Any] = ["model", "scene", "passages", "sentences", "explainer"]
    summary(cases, by).to_csv(out / "summary.csv", index=False, float_format="%.4g")
    thirds = pd.cut(cases["place"], [-0.01, 1 / 3, 2 / 3, 1], labels=["first third", "middle", "last third"])
    placed = cases.assign(third=thirds.astype(str))
    summary(placed, [*by[:2], "third", "explainer"]).to_csv(out / "by-place.csv", index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
