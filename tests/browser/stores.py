"""Stores made by hand, with the objects that audits leave, and texts that try to break out of a page."""

import json
import random

import pandas as pd

from tests.audit.fixtures import example_audit
from trueness.audits.leaderboard import result_of
from trueness.engine import Store
from trueness.engine.encoding import digest

_TEXT = "a film that works on several levels and openly questions what the dull script of a good or bad scene says"
WORDS = _TEXT.split(" ")
METHODS = {"attention": False, "integrated-gradients": True, "lime": True, "leave-one-out": True, "random": True}
HOSTILE = (
    "<script>window.broken=1</script>",
    "<img src=x onerror=window.broken=1>",
    "</script><script>window.broken=1</script>",
    "\u202egnp.exe\u202c",
    "\u0000\u0007\u001b[31m",
    "{{ 7 * 7 }}",
    "javascript:window.broken=1",
    "שלום עולם",
    "\ud800",
    "&lt;b&gt;",
    "\u2028\u2029",
)


def strips(texts, seed=0, *, methods=METHODS, words=WORDS, longest=24):
    """One row per text and method, with scores drawn at random."""
    draw = random.Random(seed)
    rows = []
    for number in range(texts):
        chosen = [draw.choice(words) for _ in range(draw.randint(6, longest))]
        about = {
            **{"instance": number, "words": chosen, "other": "", "predicted": draw.choice(["no", "yes"])},
            **{"probability": draw.uniform(0.5, 1), "gold": draw.choice(["no", "yes"])},
        }
        for name, signed in methods.items():
            scores = [draw.uniform(-1 if signed else 0, 1) for _ in chosen]
            rows.append({**about, "method": name, "signed": signed, "scores": scores})
    return pd.DataFrame(rows)


def clean(text):
    """As parquet can hold it: a half character cannot be written."""
    return text.encode("utf-8", "replace").decode()


def hostile_strips():
    """Texts of hostile words, one of 100,000 words."""
    words = [clean(word) for word in HOSTILE]
    long = [words[place % len(words)] for place in range(100_000)]
    rows = [
        {
            **{"instance": number, "words": some, "other": words[0], "predicted": words[1], "gold": words[2]},
            **{"probability": 0.5, "method": method, "signed": True},
            "scores": [(place % 5) - 2.0 for place in range(len(some))],
        }
        for number, some in enumerate([words, words[::-1], long])
        for method in ("attention", words[0])
    ]
    return pd.DataFrame(rows)


def commit(store, task, payloads, **inputs):
    """An object as a worker leaves it."""
    key = digest([task, repr(inputs), len(list(store.keys()))])
    about = {"task": task, "version": 1, "parameters": {}, "inputs": inputs, "device": "cpu", "seconds": 0.1}
    store.commit(key, payloads, {**about, "finished": 1.0, "versions": {"trueness": "0"}})
    return key


def audit_store(path, table, *, title="Audit of a model"):
    """A store with one audit; returns it and the key of the result."""
    store = Store.open(path, create=True)
    plain = json.loads(example_audit().model_dump_json())
    examples = commit(store, "audit/examples", {"examples": [], "strips": table})
    verdict = commit(store, "audit/verdict", {"audit": plain}, examples=[examples])
    summary = commit(store, "audit/summary", result_of([({}, plain)]).payloads(), audits=[verdict])
    study = {"kind": "audit", "name": "audit", "title": title, "question": "Which may be shown?", "paper": "trueness"}
    store.record_run("audit", summary, study)
    return store, summary
