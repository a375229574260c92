import pytest

from tests.models.transformers import WORDS, model, tokenizer


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
