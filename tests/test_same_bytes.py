"""Every built-in study gives the same bytes again, whatever order Python's sets and the libraries' tables have."""

import json
import os
import subprocess
import sys
from pathlib import Path

from trueness import api

SMALL = {"vectors": "none", "shape": {"hidden": 4, "embedding": 4}}
PLANTED = {**SMALL, "plantings": ["token-with-decoy"], "models": ["average-additive"], "seeds": 2, "instances": 10}
del PLANTED["vectors"]

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
    "recursive-roar": {
        **SMALL,
        "recipe": "dry-run",
        "seeds": [0, 1],
        "explainers": ["attention", "blurred[attention]"],
        "steps": [0.5],
        "bounded": 2,
    },
}

SCRIPT = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
import trueness as tn
path, folder, miniatures = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
with ThreadPoolExecutor(1) as executor:
    for name, settings in miniatures.items():
        datasets = {} if name == "roar-synthetic" else {"datasets": folder}
        finished = tn.run(name, store=path, executor=executor, **datasets, **settings)
store = finished.stored.store
print(json.dumps({key: [store.meta(key)["task"], store.meta(key)["payloads"]] for key in store.keys()}, sort_keys=True))
"""


def start(store, folder, seed):
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SCRIPT, str(store), str(folder), json.dumps(MINIATURES)]
    root = Path(__file__).parents[1]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root
    )


def test_every_built_in_study_has_a_miniature():
    assert sorted(MINIATURES) == sorted(api.list()["study"])


def test_every_built_in_study_gives_the_same_bytes_twice(folder, tmp_path):
    runs = [start(tmp_path / f"store-{seed}", folder, seed) for seed in (1, 2)]
    digests = []
    for process in runs:
        output, trouble = process.communicate(timeout=900)
        assert process.returncode == 0, trouble
        digests.append(json.loads(output.splitlines()[-1]))
    first, second = digests
    differ = {task for key, (task, found) in first.items() if second.get(key, [task, None])[1] != found}
    assert not differ
    assert first == second
    assert "attention/seeds" in {task for task, _ in first.values()}
