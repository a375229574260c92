import json

import numpy as np
import pytest


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
