"""From what the tasks of an audit left to an `Audit`: measurements of every explainer, judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.audits import notes
from trueness.audits.judging import in_order, judge, no_better
from trueness.audits.measured import Line, Measurements
from trueness.audits.trials import (
    DEPENDS,
    INFORMATIVE,
    MOVED,
    PLANTED,
    REMOVAL,
    REPEATS,
    lines_of,
    no_order,
    of_kind,
)
from trueness.audits.verdict import Audit, Broken, Curve, Example, OwnTrial
from trueness.engine import Stored
from trueness.errors import UserError
from trueness.kinds import KINDS
from trueness.kinds.contract import Finding, Words
from trueness.protocols.best_order import Reference, Singles
from trueness.protocols.faithfulness import Removal
from trueness.protocols.similarity import flat
from trueness.stats.undefined import Bools, Floats

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 1e-6
"""Probabilities that differ by less are the same."""
_FEW_MODELS = 3
"""Models with planted evidence below which a warning is due."""


def assemble(
    inputs: Mapping[str, list[Stored]],
    kind: str,
    explainers: Sequence[str],
    foils: Sequence[str],
    hidden_shares: Sequence[float],
    missing_planted: str,
    *,
    planted_required: bool,
    model: str,
    data: str,
) -> Audit:
    """One model's audit; `data` names them where they are no object."""
    about, explainers, foils = KINDS[kind], list(map(str, explainers)), list(map(str, foils))
    words, (read,), (asked,) = about.words, inputs["read"], inputs["asked"]
    told, answered = read.read("told"), asked.read("about")
    by_name = {name: _of_explainer(inputs, number, explainers, kind) for number, name in enumerate(explainers)}
    shuffled = [*inputs["randomised"], *inputs["layers"]]
    refused, broken = _failures(by_name, [*_broken(inputs["planted found"], "facts"), *_broken(shuffled)], foils)
    able = [name for name in explainers if name not in refused and name not in broken]
    if not set(able) - set(foils):
        raise UserError(f"None of the explainers works for this model: {_listed({**refused, **broken})}")
    said = {name: by_name[name]["explained"] for name in able}
    removed = {name: Removal(**by_name[name]["removed"].read("removal")) for name in able}
    detection, planted_notes = _detection(inputs["planted found"], able)
    constant = _constant(asked, removed, words)
    learned, companion_notes = notes.companion(inputs["companion"], words)
    reference = Reference(**inputs["reference"][0].read("reference"))
    predicted, labels = asked.read("said")["probability"].argmax(axis=1), np.array(answered["labels"])
    weights = _random_weights(shuffled)
    found = {
        name: Measurements(
            cost=removed[name].cost,
            soft_cost=removed[name].soft_cost,
            **_changes(weights.get(name)),
            stranger=_stranger(by_name[name].get("stranger")),
            ceiling=said[name].read("repeats")["ceiling"],
            alone=said[name].read("repeats")["alone"],
            edited=said[name].read("repeats")["edited"],
            flat=np.zeros(0, dtype=bool) if constant else _flat(said[name]),
            random=about.explainers[name].facts.random,
            detection=detection.get(name),
            reference=reference,
            singles=_singles(said[name], reference),
            strongest=inputs["reference"][0].read("strongest")["units"],
            predicted=predicted[: len(removed[name].cost)],
            labels=labels[: len(removed[name].cost)],
            classes=tuple(told["classes"]),
            **(_companion(by_name[name], inputs["companion reference"]) if learned else {}),
            notes={
                DEPENDS: notes.layers(weights.get(name)),
                REPEATS: notes.alike_twin(by_name[name].get("twin"), words),
                PLANTED: planted_notes,
                REMOVAL: (
                    *companion_notes,
                    *notes.softly_hidden(removed[name], reference, words),
                    *notes.between_bounds(inputs["bounded"], name, words),
                    *notes.retrained(inputs["retrained"], name, words, asked=name not in foils),
                ),
                INFORMATIVE: notes.agreement(name, said, able, foils),
            },
            more=tuple(
                line for held in about.trials if (line := _own(held.name, by_name[name][held.name])) is not None
            ),
            words=words,
        )
        for name in able
    }
    sharp = [name for name in foils if _no_blunter(name, found)]
    foils = [name for name in foils if name not in sharp]
    found = {name: one for name, one in found.items() if name not in sharp}
    if inputs["planted found"] and not detection:
        missing_planted = notes.unlearned([one.read("facts") for one in inputs["planted found"]], words)
    trained = len(inputs["planted found"])
    planting: dict[str, Any] = {"missing_planted": missing_planted, "planted_required": planted_required}
    lines = lines_of(found, foils, trained=trained, **planting)
    impossible = dict.fromkeys(
        f"{line.trial}: {line.missing}"
        for some in lines.values()
        for line in some
        if line.missing and not line.required
    )
    if constant:  # whatever is measured of such a model is rounding
        lines = {name: [_silent(line, constant) for line in some] for name, some in lines.items()}
    judged, ties = in_order(judge(lines, foils, told["rows"], words), found)
    tried = {trial.name for one in judged for trial in one.trials}
    return Audit(
        model=model,
        data=data or told["data"],
        classes=tuple(told["classes"]),
        kind=about.name,
        words=words,
        size=max(len(one.cost) for one in found.values()),
        accuracy=answered["accuracy"],
        explainers=tuple(judged),
        broken=tuple(Broken(explainer=name, error=error) for name, error in broken.items()),
        own_trials=tuple(
            OwnTrial(name=held.name, question=held.question, how=held.how, papers=held.papers)
            for held in about.trials
            if held.name in tried
        ),
        ties=tuple(ties),
        left_out=(
            *(f"{name}: {reason}" for name, reason in refused.items()),
            *([f"{PLANTED}: {missing_planted}"] if not detection and planted_required else []),
            *impossible,
            *([] if learned else [companion_notes[0].rstrip(".")]),
            *(f"the foil {name}: where one {words.unit} decides, blurring spoils nothing" for name in sharp),
        ),
        warnings=(
            *([constant] if constant else []),
            *told["warnings"],
            *(f"{name} {why}" for name, one in found.items() if name not in foils and (why := no_order(one))),
            *(f"{name}: {why.rstrip('.')}" for name in able for why in said[name].read("told")["warnings"]),
            *_no_better(answered),
            *([] if constant else _warnings(judged, found, trained)),
        ),
        notes=(*told["notes"], *answered["notes"]),
        curves=tuple(curve_of(name, one, hidden_shares) for name, one in removed.items() if name in found),
        examples=tuple(Example(**one) for one in inputs["examples"][0].read("examples")),
    )


def _no_blunter(name: str, found: Mapping[str, Measurements]) -> bool:
    """Whether a blurred copy costs nearly as much as what it was made from: then it is right, and no foil."""
    made_from = name.removeprefix("blurred[").removesuffix("]")
    if name not in found or made_from == name or made_from not in found:
        return False
    return bool(found[name].cost.mean() >= _AS_SHARP * found[made_from].cost.mean() > 0)


_AS_SHARP = 0.9
_EACH = ("explained", "removed", "companion", "twin", "stranger")
"""Inputs of which there is one for each explainer, if any."""


def _of_explainer(
    inputs: Mapping[str, list[Stored]], number: int, explainers: Sequence[str], kind: str
) -> dict[str, Stored]:
    """What the tasks of one explainer left, by the name of the work or of the kind's own trial."""
    found = {name: inputs[name][number] for name in _EACH if inputs[name]}
    own = [inputs["own"][number + place * len(explainers)] for place in range(len(KINDS[kind].trials))]
    return found | {held.name: stored for held, stored in zip(KINDS[kind].trials, own, strict=True)}


def _failures(
    by_name: Mapping[str, Mapping[str, Stored]], shared: Sequence[Mapping[str, str]], foils: Sequence[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Why explainers are not possible for this model; and what is wrong with the code of others."""
    refused: dict[str, str] = {}
    broken: dict[str, str] = {}
    for name, tasks in by_name.items():
        if tasks["explained"].holds("refused"):
            refused[name] = tasks["explained"].read("refused")["reason"]
        told = [stored.read("broken")["error"] for stored in tasks.values() if stored.holds("broken")]
        told += [errors[name] for errors in shared if name in errors]
        if told and name not in foils:
            broken[name] = told[0]
    return refused, broken


def _broken(tasks: Sequence[Stored], told: str = "about") -> list[Mapping[str, str]]:
    """Of tasks that all methods share: which of them failed, and how."""
    return [stored.read(told)["broken"] for stored in tasks]


def _listed(errors: Mapping[str, str]) -> str:
    return "; ".join(dict.fromkeys(errors.values()))


def examples_beside(stored: Stored) -> dict[str, pd.DataFrame]:
    """Of the audits of a study: every example with every method's scores, as `strips`."""
    import pandas as pd

    parts = []
    for key in stored.meta["inputs"]["audits"]:
        audit = stored.store.get(key)
        for one in audit.meta["inputs"]["examples"]:
            strips = stored.store.get(one).read("strips")
            about = audit.read("audit")
            parts.append(strips.assign(dataset=about["data"], model=about["model"]))
    some = [part for part in parts if len(part)]
    return {"strips": pd.concat(some, ignore_index=True)} if some else {}


def _own(trial: str, stored: Stored) -> Line | None:
    """A trial of the kind's own; None where it does not apply to an explainer."""
    if not stored.holds("values"):
        return None
    values, about = stored.read("values"), stored.read("about")
    findings = [Finding(**check, values=values[str(number)]) for number, check in enumerate(about["checks"])]
    return of_kind(trial, findings, tuple(about["notes"]))


def _flat(stored: Stored) -> Bools:
    kept = stored.read("scores")
    return flat(kept["scores"].astype(np.float64), kept["mask"])


def _singles(stored: Stored, reference: Reference) -> Singles:
    kept = stored.read("scores")
    return reference.singles(kept["scores"].astype(np.float64), kept["mask"])


def _random_weights(tasks: Sequence[Stored]) -> dict[str, pd.DataFrame]:
    """By method what random weights do to it."""
    import pandas as pd

    tables = [stored.read("records") for stored in tasks if stored.holds("records")]
    both = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame({"method": []})
    return {str(name): rows for name, rows in both.groupby("method", sort=False)}


def _changes(table: pd.DataFrame | None) -> dict[str, Any]:
    """(draws, examples) by how much all weights at once change explanations, of one draw (examples,); and outputs."""
    if table is None:
        return {"change": np.zeros(0), "moved": 0.0}
    rows = table[(table["order"] == "all at once") & (table["smooth"] == 0)]
    fall = rows.assign(fall=rows["ceiling"] - rows["similarity"]).pivot(index="seed", columns="instance", values="fall")
    change = fall.to_numpy(dtype=np.float64)
    return {"change": change if len(change) > 1 else change[0], "moved": float(rows["output change"].mean())}


def _stranger(stored: Stored | None) -> Floats | None:
    """(examples,) by how much random labels change the explanation; None where the model's output hardly differs."""
    if stored is None or not stored.holds("compared"):
        return None
    found = stored.read("compared")
    change: Floats = found["ceiling"] - found["similarity"]
    return change if float(found["moved"].mean()) >= MOVED else None


def _detection(trials: Sequence[Stored], able: Sequence[str]) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """(models, examples) AUROC of each method, of models that used the evidence."""
    tables = [stored.read("records") for stored in trials if stored.holds("records")]
    facts = [stored.read("facts") for stored in trials]
    shown = ", ".join(f"{one['evidence']} {one['accuracy']:.2f}" for one in facts)
    told = (f"{len(tables)} of {len(trials)} models had to use the planted evidence (accuracy {shown}).",)
    found = {}
    for name in able:
        rows = [
            table[table["method"] == name].sort_values("instance")["AUROC"].to_numpy(dtype=np.float64)
            for table in tables
            if (table["method"] == name).any()
        ]
        if rows:  # each model has its own split: some hold a few examples less
            least = min(map(len, rows))
            found[name] = np.stack([row[:least] for row in rows])
    return found, told if trials else ()


def _companion(tasks: Mapping[str, Stored], beside: Sequence[Stored]) -> dict[str, Any]:
    """(examples,) what hiding units costs the companion, and what the best order does there."""
    if "companion" not in tasks or not tasks["companion"].holds("removal"):
        return {}
    own = tasks["companion"].read("removal")["cost"]
    return {"companion": own, "companion_best": beside[0].read("best")["cost"][: len(own)]}


def _silent(line: Line, reason: str) -> Line:
    return replace(line, models=0, checks=[replace(check, found=None, reason=reason) for check in line.checks])


def _constant(asked: Stored, removed: Mapping[str, Removal], words: Words) -> str:
    """What is to be said of a model whose output is always the same, whatever is hidden; nothing of others."""
    spread = float(np.ptp(asked.read("said")["probability"], axis=0).max())
    falls = [abs(one.whole[:, None] - left) for one in removed.values() for left in (one.important, one.unimportant)]
    if max([spread, *(float(fall.max(initial=0)) for fall in falls)]) > ROUNDING:
        return ""
    same = f"the model says the same of every {words.example}, with and without hidden {words.units}"
    return f"{same}, so that there is nothing to explain"


def _no_better(answered: Mapping[str, Any]) -> list[str]:
    labels = np.array(answered["labels"])
    return [] if answered["accuracy"] is None else no_better(answered["accuracy"], labels[labels >= 0])


def _warnings(judged: Sequence[Any], found: Mapping[str, Measurements], models: int) -> list[str]:
    told = []
    # What others have to beat cannot beat itself: of a foil that sees no model, all trials but that one count.
    shown = [
        one.explainer
        for one in judged
        if one.foil
        and not one.explainer.startswith("blurred")
        and all(trial.answer == "pass" for trial in one.trials if trial.required and trial.name != INFORMATIVE)
    ]
    if shown:
        examples = found[judged[0].explainer].words.examples
        told.append(
            f"{', '.join(shown)}, which sees no model, passed every required trial but “{INFORMATIVE}”: on these "
            f"{examples} what passed the others may know as little"
        )
    if 0 < models < _FEW_MODELS:
        told.append(f"evidence was planted for {models} models: with fewer than {_FEW_MODELS} its interval is wide")
    costs = {one.explainer: float(found[one.explainer].cost.mean()) for one in judged if one.explainer in found}
    best = max(costs, key=costs.__getitem__, default="")
    if any(one.foil and one.explainer == best for one in judged):
        units = found[best].words.units
        told.append(f"the foil {best} costs most when hidden: no method of this audit ranks {units} better than it")
    return told


def curve_of(name: str, found: Removal, levels: Sequence[float]) -> Curve:
    """What is left of the probability as more is hidden."""
    whole = float(found.whole.mean())
    return Curve(
        explainer=name,
        hidden=(0.0, *map(float, levels)),
        important_first=(whole, *map(float, found.important.mean(axis=0))),
        unimportant_first=(whole, *map(float, found.unimportant.mean(axis=0))),
    )
