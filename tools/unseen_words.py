"""How many test texts hold a word that the training split does not have: python tools/unseen_words.py NAME."""

from __future__ import annotations

import sys

from trueness.data import load_text


def main() -> None:
    """Count them."""
    data = load_text(sys.argv[1])
    known = data.vocabulary.numbers
    unseen = sum(any(token not in known for token in example.tokens) for example in data["test"])
    print(f"{unseen} of {len(data['test'])} test texts hold a word unknown to training.")


if __name__ == "__main__":
    main()
