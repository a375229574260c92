"""An audit as one comes out: six explainers, three foils, six trials, and names and words that try to break out."""

import math
from random import Random

from trueness.audits.trials import TRIALS as COMMON
from trueness.audits.verdict import Answer, Audit, Check, Cost, Curve, Decision, Example, Judged, OwnTrial, Trial
from trueness.kinds.text.attention.own_trial import ATTENTION
from trueness.kinds.text.audit import WORDS

TRIALS = (*COMMON[:-1], ATTENTION.name, COMMON[-1])

HOSTILE = "mine.py:peak|<b>&\"'`"
"""A method's name with all that HTML, Markdown and XML could take for their own."""
FOILS = ("random", "blurred[leave-one-out]", "token-number")
EXPLAINERS = ("integrated-gradients", "leave-one-out", "lime", HOSTILE, "attention", "gradient-norm")
SIGNED = ("integrated-gradients", "leave-one-out", "lime", "blurred[leave-one-out]")
_THRESHOLDS = {
    "depends on the model": ("change of the explanation when all weights are random", 0.0, 0.10, 40, "texts"),
    "finds planted evidence": ("share of planted words among the first words", 0.12, 0.24, 5, "models"),
    "removal costs": ("probability lost: important words minus unimportant ones", 0.0, 0.02, 200, "texts"),
    "repeats itself": ("agreement with its own repetition", 0.0, 0.60, 100, "texts"),
    "attention matters": ("change of the output when attention is moved", 0.0, 0.05, 100, "texts"),
    "informative": ("distance from the nearest foil", 0.0, 0.05, 200, "texts"),
}
_MEASURED: dict[str, dict[str, tuple[float, float]]] = {
    "integrated-gradients": {
        "depends on the model": (0.71, 0.05),
        "finds planted evidence": (0.83, 0.07),
        "removal costs": (0.284, 0.031),
        "repeats itself": (0.97, 0.01),
        "informative": (0.41, 0.04),
    },
    "leave-one-out": {
        "depends on the model": (0.66, 0.06),
        "finds planted evidence": (0.79, 0.09),
        "removal costs": (0.301, 0.029),
        "repeats itself": (0.93, 0.02),
        "informative": (0.38, 0.05),
    },
    "lime": {
        "depends on the model": (0.58, 0.07),
        "finds planted evidence": (0.61, 0.14),
        "removal costs": (0.243, 0.034),
        "repeats itself": (0.60, 0.05),
        "informative": (0.33, 0.05),
    },
    HOSTILE: {
        "depends on the model": (0.44, 0.08),
        "removal costs": (0.031, 0.029),
        "repeats itself": (0.88, 0.03),
        "informative": (0.09, 0.05),
    },
    "attention": {
        "depends on the model": (0.52, 0.06),
        "finds planted evidence": (0.16, 0.06),
        "removal costs": (0.052, 0.027),
        "repeats itself": (0.84, 0.03),
        "attention matters": (0.03, 0.01),
        "informative": (0.12, 0.04),
    },
    "gradient-norm": {
        "depends on the model": (0.35, 0.07),
        "finds planted evidence": (0.31, 0.11),
        "removal costs": (-0.018, 0.024),
        "repeats itself": (0.91, 0.02),
        "informative": (0.07, 0.04),
    },
    "random": {
        "depends on the model": (0.01, 0.03),
        "finds planted evidence": (0.12, 0.04),
        "removal costs": (-0.004, 0.013),
        "repeats itself": (0.00, 0.04),
        "informative": (0.00, 0.02),
    },
    "blurred[leave-one-out]": {
        "depends on the model": (0.47, 0.07),
        "finds planted evidence": (0.14, 0.05),
        "removal costs": (-0.012, 0.021),
        "repeats itself": (0.90, 0.03),
        "informative": (0.00, 0.03),
    },
    "token-number": {
        "depends on the model": (0.00, 0.00),
        "finds planted evidence": (0.13, 0.05),
        "removal costs": (-0.021, 0.019),
        "repeats itself": (1.00, 0.00),
        "informative": (0.01, 0.02),
    },
}
_FIRST = {
    "depends on the model": "all weights at once",
    "finds planted evidence": "planted words found",
    "removal costs": "important minus unimportant",
    "repeats itself": "another seed",
    "attention matters": "attention moved",
    "informative": "told from foils",
}
"""The check that is shown first."""
_SETTLE = {
    "lime": "About 1,000 samples for each text (6 minutes more) would settle it.",
    HOSTILE: "About 900 texts more (11 minutes) would settle it.",
}


def _answer(value: float, half: float, threshold: float) -> Answer:
    if value - half > threshold:
        return "pass"
    return "fail" if value + half < threshold else "cannot tell"


def _check(
    name: str, measure: str, value: float, half: float, *, null: float, threshold: float, n: int, unit: str
) -> Check:
    distance = abs(value - threshold) / (half or 0.001)
    return Check(
        name=name,
        measure=measure,
        answer=_answer(value, half, threshold),
        value=value,
        low=value - half,
        high=value + half,
        null=null,
        threshold=threshold,
        best=1.0,
        n=n,
        unit=unit,
        p_value=math.erfc(1.96 * distance / math.sqrt(2)),
    )


def _trial(name: str, explainer: str) -> Trial:
    measure, null, threshold, n, unit = _THRESHOLDS[name]
    if name not in _MEASURED[explainer]:
        why = "It needs gradients of a second model, which a function of one's own does not get."
        bare = Check(name=_FIRST[name], measure=measure, answer="cannot tell", n=0, unit=unit, reason=why)
        return Trial(name=name, answer="cannot tell", required=name == TRIALS[1], reason=why, checks=(bare,))
    value, half = _MEASURED[explainer][name]
    checks = [_check(_FIRST[name], measure, value, half, null=null, threshold=threshold, n=n, unit=unit)]
    notes: tuple[str, ...] = ()
    if name == "depends on the model":
        for order in ("from the last layer down", "from the first layer up"):
            changed = measure.replace("all weights are random", f"layers are made random {order}")
            checks.append(_check(order, changed, value * 0.8, half, null=null, threshold=threshold, n=n, unit=unit))
        notes = ("Two runs on the same weights differ by 0.02 (the noise floor).",)
    found = {"pass": "lies above", "fail": "lies below", "cannot tell": "cannot be told from"}[checks[0].answer]
    return Trial(
        name=name,
        answer=checks[0].answer,
        required=name not in ("attention matters", "informative"),
        reason=(
            f"The {measure.split(':')[0]} is {round(value, 2) + 0.0:.2f}; it {found} the threshold of {threshold:.2f}."
        ),
        checks=tuple(checks),
        notes=notes,
    )


def _judged(explainer: str, seconds: float) -> Judged:
    names = [name for name in TRIALS if name != "attention matters" or explainer == "attention"]
    trials = tuple(_trial(name, explainer) for name in names)
    required = [trial for trial in trials if trial.required]
    failed = [trial.name for trial in required if trial.answer == "fail"]
    open_cases = [trial.name for trial in required if trial.answer == "cannot tell"]
    decision: Decision = "must not be shown" if failed else "cannot tell" if open_cases else "may be shown"
    return Judged(
        explainer=explainer,
        foil=explainer in FOILS,
        decision=decision,
        decided_by=(failed or open_cases or ["all required trials"])[0],
        settle=_SETTLE.get(explainer, ""),
        trials=trials,
        seconds=seconds,
    )


def _example(why: str, text: str, predicted: str, probability: float, label: str | None, strong: dict[str, float]):
    chance = Random(text)
    words = text.split()
    scores: dict[str, list[float]] = {name: [] for name in (*SIGNED, "attention", "gradient-norm", HOSTILE)}
    scores |= {name: [] for name in ("random", "token-number")}
    for number, word in enumerate(words):
        clear = strong.get(word, 0.0)
        for name in SIGNED:
            scores[name].append(round(clear + chance.gauss(0, 0.08), 4))
        scores["attention"].append(round(abs(chance.gauss(0.02, 0.03)) + (0.3 if word in ".," else 0), 4))
        scores["gradient-norm"].append(round(abs(chance.gauss(0.2, 0.3)), 4))
        scores[HOSTILE].append(round(abs(clear) * 0.4 + chance.random() * 0.5, 4))
        scores["random"].append(round(chance.random(), 4))
        scores["token-number"].append(float((number * 7919) % 3001))
    return Example(
        why=why,
        predicted=predicted,
        probability=probability,
        label=label,
        units=tuple(words),
        scores={name: tuple(values) for name, values in scores.items()},
        signed=SIGNED,
    )


def _curve(explainer: str, drop: float) -> Curve:
    hidden = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
    gone = [share**0.6 for share in hidden]
    first = [0.94 - 0.4 * share ** (1 / (1 + 6 * drop)) for share in gone]
    last = [0.94 - 0.4 * share ** (1 + 6 * drop) for share in gone]
    return Curve(explainer=explainer, hidden=hidden, important_first=tuple(first), unimportant_first=tuple(last))


def example_audit() -> Audit:
    """Two may be shown (a tie), two must not, of two it cannot be told; all three foils fail."""
    judged = [_judged(name, seconds=20.0 + 7 * place) for place, name in enumerate((*EXPLAINERS, *FOILS))]
    drops = {name: _MEASURED[name]["removal costs"][0] * 0.8 for name in (*EXPLAINERS, *FOILS)}
    return Audit(
        model="reviews-minilm <v2> & co",
        data="reviews.csv",
        classes=("negative", "positive"),
        kind="text",
        words=WORDS,
        size=800,
        accuracy=0.912,
        explainers=tuple(judged),
        own_trials=(
            OwnTrial(name=ATTENTION.name, question=ATTENTION.question, how=ATTENTION.how, papers=ATTENTION.papers),
        ),
        ties=(("integrated-gradients", "leave-one-out"),),
        left_out=(
            "Retraining without important words (Recursive ROAR) was left out: it takes 40 minutes, the budget is 10.",
            "12 texts were cut at 512 tokens.",
        ),
        warnings=("Only 61 texts have the label negative; the intervals of that class are wide.",),
        curves=tuple(_curve(name, drop) for name, drop in drops.items()),
        examples=(
            _example(
                "Methods disagree most on it",
                "a dull film with one truly brilliant last scene , and I would see it again",
                "positive",
                0.81,
                "positive",
                {"dull": -0.7, "brilliant": 0.9, "truly": 0.3, "again": 0.25},
            ),
            _example(
                "The model is wrong",
                "not once did this <script>alert(1)</script> comedy make me laugh , though the friend beside me "
                "who had paid for both tickets & two large buckets of popcorn said it was \"fine\" and 'fun' in the "
                "way that only a man who sleeps through a Donaudampfschifffahrtsgesellschaftskapitänsmütze can say it",
                "positive",
                0.563,
                "negative",
                {"not": -0.4, "laugh": 0.5, "comedy": 0.2, "said": -0.1},
            ),
            _example(
                "Has no label",
                "جميل جدا | `great` 素晴らしい movie",
                "positive",
                0.999,
                None,
                {"`great`": 0.8, "movie": 0.1},
            ),
        ),
        settings={"budget": "10m", "seed": 0, "device": "cpu", "trials": {"removal costs": {"shares": [0.05, 0.1]}}},
        cost=(
            Cost(work="explanations", tasks=9, seconds=212.4),
            Cost(work="randomised models", tasks=27, seconds=148.0),
            Cost(work="models with planted evidence", tasks=5, seconds=171.2),
            Cost(work="removal", tasks=9, seconds=38.9),
        ),
        versions={"trueness": "0.4.0", "torch": "2.9.0", "transformers": "5.1.0"},
        key="audit-3f9ac2d18e7b4c55a0d1f6e2b7c8934a",
    )
