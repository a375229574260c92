import json
import os

# Two workers of two threads each would wait for one another; set before torch is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
import torch
from hypothesis import settings

import trueness as tn

settings.register_profile("here", deadline=None, derandomize=True)
settings.load_profile("here")
torch.backends.cudnn.allow_tf32 = False  # on a GPU, references are computed in full precision

# Files that take longest, first: the last one to begin decides when two workers end.
LONGEST = (
    "tests/test_api.py",
    "tests/papers/test_ground_truth.py",
    "tests/papers/test_agreement.py",
    "tests/papers/test_recursive_roar.py",
    "tests/engine/test_clusters.py",
)

TINY = {"seeds": 5, "data": {"train": 600, "test": 4000}}


def pytest_collection_modifyitems(items):
    """The longest files first, each as a whole."""
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.location[0], len(LONGEST)))


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory):
    """The synthetic study at a size that takes a few seconds."""
    return tn.run("roar-synthetic", store=tmp_path_factory.mktemp("tiny") / "store", workers=2, **TINY)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """One word decides."""
    path = tmp_path_factory.mktemp("data") / "one-word"
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
