"""Every built-in study, so small that all of them take less than a minute, and the processes that run them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from trueness.engine import Store

SMALL = {"vectors": "none", "shape": {"hidden": 4, "embedding": 4}}
PLANTED = {**SMALL, "plantings": ["token-with-decoy"], "models": ["average-additive"], "seeds": 2, "instances": 10}
del PLANTED["vectors"]
IMAGES = {
    "datasets": "photo-crops",
    "size": 16,
    "models": ["small-cnn"],
    "manipulations": ["brightness"],
    "pairs": [["temple", "flower"]],
    "distinct": [],
    "correlated": 1,
    "seeds": 2,
    "level": 5,
    "training": {"epochs": 3, "batch_size": 64, "learning_rate": 0.02},
    "explainers": ["gradient", "grad-cam", "random"],
    "watched": ["gradient", "random"],
    "instances": 6,
    "examples": 2,
}

MINIATURES = {
    "roar-synthetic": {"seeds": 2, "data": {"train": 60, "test": 60}},
    "attention-is-not-explanation": {
        "vectors": "none",
        "models": ["average-additive"],
        "seeds": 3,
        "permutations": 3,
        "search_steps": 3,
        "instances": 6,
        "examples": 1,
    },
    "attefa": {**SMALL, "models": ["average-additive"], "seeds": [1, 2], "weights": [1.0]},
    "attefa-extensions": {**SMALL, "models": ["average-additive"], "seeds": [1, 2], "weights": [1.0]},
    "four-tests": {**SMALL, "models": ["average-additive"], "seeds": [1, 2], "weights": [1.0]},
    "agreement": {
        **SMALL,
        "models": ["bilstm-additive"],
        "recipe": "court2022",
        "seeds": [1, 2],
        "explainers": ["attention", "lime", "integrated-gradients", "gradient-shap"],
        "instances": 6,
        "slow_instances": 3,
        "examples": 1,
    },
    "dry-run": {**PLANTED, "explainers": ["attention", "integrated-gradients", "random"]},
    "ground-truth-text": {
        **PLANTED,
        "vectors": "none",
        "recipe": "dry-run",
        "explainers": ["attention", "lime", "random"],
        "rationales": ["hardkuma"],
        "rationale_recipe": "dry-run",
        "rationale_seeds": 1,
        "selections": {"token-with-decoy": [0.2]},
    },
    "ground-truth-images": IMAGES,
    "birds-images": {**IMAGES, "questions": ["region", "visibility", "correlation"], "groups": 1, "kept": [0.5, 1.0]},
    "recursive-roar": {
        **SMALL,
        "recipe": "dry-run",
        "seeds": [0, 1],
        "explainers": ["attention", "blurred[attention]"],
        "steps": [0.5],
        "bounded": 2,
    },
}

DRIVER = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
import trueness as tn
from trueness.engine import LocalExecutor, open_engine
store, folder, engine, miniatures = *sys.argv[1:4], json.loads(sys.argv[4])
known = {"thread": lambda: ThreadPoolExecutor(1), "local": lambda: LocalExecutor(["cpu"])}
with known[engine]() if engine in known else open_engine(engine) as executor:
    print("ready", flush=True)
    for name, settings in miniatures.items():
        datasets = {} if name == "roar-synthetic" else {"datasets": folder}
        tn.run(name, store=store, executor=executor, **{**datasets, **settings})
"""


def start(store, folder, engine="thread", **environment):
    """A process that runs all of them, one after the other; it says `ready` when its engine is."""
    command = [sys.executable, "-c", DRIVER, str(store), str(folder), engine, json.dumps(MINIATURES)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    # No pipe: what a killed driver leaves running would hold it open.
    with stderr_of(store).open("w") as said:
        return subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            cwd=Path(__file__).parents[1],
            start_new_session=True,
        )


def stderr_of(store):
    """The file in which the last driver of a store said what went wrong."""
    return store.with_name(f"{store.name}.stderr")


def finish(process, store):
    """Wait for its end, which must be a good one."""
    assert process.wait(timeout=1800) == 0, stderr_of(store).read_text()
    process.stdout.close()


def digests(path):
    """Of every object in a store its task and the digests of its payloads."""
    store = Store.open(path)
    return {key: [store.meta(key)["task"], store.meta(key)["payloads"]] for key in store.keys()}  # noqa: SIM118


def one_word(path):
    """A folder of texts in which one word decides."""
    path.mkdir()
    rng = np.random.default_rng(0)
    for split, size in (("train", 80), ("dev", 30), ("test", 30)):
        rows = []
        for index in range(size):
            words = rng.choice(["x", "y", "z"], rng.integers(4, 9)).tolist()
            words[rng.integers(len(words))] = ("bad", "good")[index % 2]
            rows.append(json.dumps({"text": " ".join(words), "label": index % 2}))
        (path / f"{split}.jsonl").write_text("\n".join(rows))
    return path
