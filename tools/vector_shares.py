"""Write into a kept comparison which share of each dataset's tokens has no word vector.

    TRUENESS_DATA=DATA python tools/vector_shares.py COMPARE.json VECTORS.npz sst@madsen2022 imdb@madsen2022

`trueness compare` finds the shares in the prepared datasets of a store; facts that were kept without texts have none.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from trueness.kinds.text.data.datasets import load_text
from trueness.kinds.text.data.word_vectors import bare_words, load_vectors


def main(file: str, vectors: str, *names: str) -> None:
    """Replace the shares in the file."""
    shares = {}
    for name in sorted(names):
        data = load_text(name)
        words, share = bare_words(load_vectors(vectors, data.vocabulary)[1], data)
        shares[name] = {"vectors": Path(vectors).name, "without": share, "words": words[:5]}
    content = json.loads(Path(file).read_text(encoding="utf-8"))
    text = json.dumps({**content, "vectors": shares}, indent=2, ensure_ascii=False)
    Path(file).write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
