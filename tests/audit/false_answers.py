"""How often an audit's removal trial answers wrongly where few texts move and the truth lies on the mark.

python -m tests.audit.false_answers

An explainer names the right word in a quarter of the texts, the mark being a quarter. Six of them are audited at once,
each with two checks (on the model and on its companion), by the rule of audits. For comparison, of single checks:
Student's p-value alone, at 0.05.
"""

import numpy as np
from scipy.stats import ttest_1samp

from trueness.audits.judging import judge
from trueness.audits.measured import Line, Measured
from trueness.audits.trials import COST, REMOVAL
from trueness.stats.marks import ratio_against

EXPLAINERS = 6
AUDITS = 3000
SIZES = (100, 100), (300, 100), (500, 150)
"""Texts explained, and of them on the companion."""


def drawn(rng, texts, moving):
    """(texts,) what the best order costs: much where a text moves, else next to nothing."""
    return np.where(rng.random(texts) < moving, rng.beta(5, 1, texts), np.abs(rng.normal(0, 0.005, texts)))


def answers(seed, texts, companion, moving):
    """Of all checks of one audit; and whether Student's p-value alone would deny the first."""
    rng = np.random.default_rng([seed, texts])
    best = {number: drawn(rng, number, moving) for number in {texts, companion}}
    lines, denied = {}, False
    for explainer in range(EXPLAINERS):
        checks = []
        for number in (texts, companion):
            own = np.where(rng.random(number) < COST, best[number], 0.0)
            checks.append(Measured(f"of {number}", "cost", ratio_against(own, best[number], COST)))
            if not explainer and number == texts and len(checks) == 1:
                denied = ttest_1samp(own - COST * best[number], 0).pvalue < 0.05
        lines[f"explainer {explainer}"] = [Line(REMOVAL, checks)]
    judged = judge(lines, ()).values()
    return [check.answer for one in judged for trial in one.trials for check in trial.checks], denied


def main():
    print("texts  companion  moving  any false fail  any false pass  a check denied by Student's alone")
    for texts, companion in SIZES:
        for moving in (0.05, 0.1, 0.3):
            found = [answers(seed, texts, companion, moving) for seed in range(AUDITS)]
            fail, done = (np.mean([wrong in said for said, _ in found]) for wrong in ("fail", "pass"))
            alone = np.mean([denied for _, denied in found])
            print(f"{texts:5}  {companion:9}  {moving:6}  {fail:14.3f}  {done:14.3f}  {alone:.3f}", flush=True)


if __name__ == "__main__":
    main()
