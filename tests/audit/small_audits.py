"""Small audits by hand."""

from trueness.audits.verdict import Audit, Check, Judged, Trial
from trueness.kinds.text.audit import WORDS


def check(value=0.4, low=0.3, high=0.5, answer="pass", **more):
    return Check(name="drop", measure="the drop", answer=answer, value=value, low=low, high=high, n=50, **more)


def trial(name="removal costs", answer="pass", *checks, reason="it was seen.", required=True):
    return Trial(name=name, answer=answer, required=required, reason=reason, checks=checks or (check(answer=answer),))


def judged(explainer="lime", decision="may be shown", *trials, foil=False, settle=""):
    answer = {"may be shown": "pass", "must not be shown": "fail"}.get(decision, "cannot tell")
    trials = trials or (trial("removal costs", answer), trial("repeats itself", answer))
    return Judged(
        explainer=explainer, foil=foil, decision=decision, decided_by="removal costs", settle=settle, trials=trials
    )


FOIL = judged("random", "must not be shown", foil=True)


def audit(*explainers, foils=(FOIL,), **more):
    given = {
        "model": "models/mine",
        "data": "reviews.csv",
        "classes": ("no", "yes"),
        "kind": "text",
        "words": WORDS,
        "size": 50,
        **more,
    }
    return Audit(explainers=(*(explainers or (judged(),)), *foils), **given)
