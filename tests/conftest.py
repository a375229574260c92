import json

import numpy as np
import pytest

from tests.models.transformers import WORDS, model, tokenizer


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


@pytest.fixture(scope="session")
def pretrained(tmp_path_factory):
    """A tiny transformer with random weights."""
    path = tmp_path_factory.mktemp("pretrained") / "tiny"
    model("bert", 2).float().save_pretrained(path)
    tokenizer().save_pretrained(path)
    return path


def rows_of(rng, size, *, pairs):
    """Texts, or pairs of them, whose first word decides."""
    for index in range(size):
        texts = [rng.choice([word for word in WORDS if word[0] != "#"], rng.integers(4, 8)).tolist() for _ in "ab"]
        texts[0][0] = ("bad", "good")[index % 2]
        row = {"text": " ".join(texts[0]), "label": index % 2}
        yield {**row, "text_b": " ".join(texts[1])} if pairs else row
