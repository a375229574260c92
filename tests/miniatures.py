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
    for model, data, settings in json.loads(sys.argv[5]):
        tn.audit(model, data, store=store, executor=executor, **settings)
"""


def start(store, folder, engine="thread", *, studies=MINIATURES, audits=(), **environment):
    """A process that runs studies and audits, one after the other; it says `ready` when its engine is."""
    command = [sys.executable, "-c", DRIVER, str(store), str(folder), engine, json.dumps(studies), json.dumps(audits)]
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
    """Of every object in a store its task and the digests of its payloads; a probe of an audit measures seconds."""
    store = Store.open(path)
    metas = {key: store.meta(key) for key in store.keys()}  # noqa: SIM118
    found = {key: [meta["task"], meta["payloads"]] for key, meta in metas.items()}
    return {key: [task, {} if task == "audit/probe" else payloads] for key, (task, payloads) in found.items()}


SIZES = {
    **{"examples": 30, "repeat_examples": 30, "edit_examples": 30, "alone_examples": 16, "shuffled_examples": 30},
    **{"shuffles": 1, "layerwise_examples": 0, "noise_draws": 0, "hidden_shares": [0.5], "searched_examples": 2},
    **{"training_examples": 0, "planted_models": 1, "companion_examples": 0, "relative_examples": 0},
    "shown_examples": 1,
}
PREDICT = """
def predict(texts):
    good = [text.split().count("good") + 1 for text in texts]
    return [[1 / (1 + some), some / (1 + some)] for some in good]
"""


def audits(path):
    """Small audits, one of every kind: the model, its data, and settings."""
    import trueness as tn
    from trueness.kinds.image.data.images import ImageDataset, Images

    path.mkdir()
    rng = np.random.default_rng(0)
    words = [" ".join(rng.choice(["x", "y", ("bad", "good")[row % 2]], 6)) for row in range(40)]
    (path / "texts.csv").write_text("text,label\n" + "".join(f"{text},{row % 2}\n" for row, text in enumerate(words)))
    (path / "small_predict.py").write_text(PREDICT)
    numbers = rng.normal(size=(80, 4))
    lines = [",".join(f"{one:.4f}" for one in row) + f",{int(row[0] > 0)}" for row in numbers]
    (path / "rows.csv").write_text("\n".join(["a,b,c,d,label", *lines]) + "\n")
    tn.train("mlp", str(path / "rows.csv"), recipe="vector[epochs=2]").save(path / "mlp")
    splits = {}
    for name, size in (("train", 40), ("dev", 12), ("test", 32)):
        pixels, labels = rng.integers(60, 140, (size, 16, 16, 3), dtype=np.uint8), np.arange(size) % 2
        pixels[labels == 1, 4:8, 4:8] = 230
        splits[name] = Images(pixels, labels)
        _write_pictures(path / "pictures" / name, pixels, labels)
    data = ImageDataset("squares", ("a", "b"), splits)
    tn.train("small-cnn", data, recipe="image[epochs=1, batch_size=16]").save(path / "cnn")
    return [
        [f"{path / 'small_predict.py'}:predict", str(path / "texts.csv"), {"explainers": ["leave-one-out"], **SIZES}],
        [str(path / "mlp"), str(path / "rows.csv"), {"explainers": ["input-x-gradient"], **SIZES}],
        [str(path / "cnn"), str(path / "pictures"), {"explainers": ["gradient"], **SIZES}],
    ]


def _write_pictures(folder, pixels, labels):
    from PIL import Image

    for row, image in enumerate(pixels):
        place = folder / "ab"[labels[row]]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(place / f"{row}.png")


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
