import pytest

from trueness.errors import UserError
from trueness.kinds.text.data.mock import FILLER, KINDS, mock


@pytest.mark.parametrize("kind", ["mock-1", "mock-5", "mock-10", "mock-1q", "mock-4q"])
def test_sizes_balance_lengths_and_informative_tokens(kind):
    splits = mock(kind, train=400, test=100)
    for split, size in (("train", 400), ("test", 100)):
        examples = splits[split]
        assert len(examples) == size
        assert sum(example.label for example in examples) == size // 2
        for example in examples:
            tokens = example.text.split()
            assert 50 <= len(tokens) <= 100
            wanted = KINDS[kind] if isinstance(KINDS[kind], int) else round(KINDS[kind] * len(tokens))
            informative = [position for position, token in enumerate(tokens) if token != FILLER]
            assert len(informative) == wanted
            assert [begin for begin, _ in example.evidence] == informative


def test_the_published_sizes():
    splits = mock("mock-1")
    assert (len(splits["train"]), len(splits["test"])) == (8000, 1000)


def test_words_agree_with_the_label_and_come_from_the_lexicon(tmp_path):
    (tmp_path / "positive-words.txt").write_text("; a comment\n\ngood\nfine\nmixed\n")
    (tmp_path / "negative-words.txt").write_text("bad\nmixed\n")
    examples = mock("mock-2q", lexicon=tmp_path, train=50, test=10)["train"]
    for example in examples:
        words = set(example.text.split()) - {FILLER}
        assert words <= ({"good", "fine"} if example.label else {"bad"})


def test_a_seed_fixes_the_data_and_a_missing_lexicon_is_named(tmp_path):
    assert mock("mock-1", train=10, test=4) == mock("mock-1", train=10, test=4)
    assert mock("mock-1", train=10, test=4) != mock("mock-1", seed=1, train=10, test=4)
    with pytest.raises(UserError, match=r"has no negative-words\.txt"):
        mock("mock-1", lexicon=tmp_path)


def test_informative_words_stand_where_they_are_told():
    for placement, third in (("start", 0), ("middle", 1), ("end", 2)):
        for example in mock("mock-5", train=60, test=2, placement=placement)["train"]:
            length = len(example.text.split())
            assert all(third * length // 3 <= begin < (third + 1) * length // 3 for begin, _ in example.evidence)
    with pytest.raises(UserError, match="do not fit into the start third"):
        mock("mock-4q", train=4, test=2, placement="start")


def test_words_are_as_strong_as_they_are_told(tmp_path):
    found = {
        strength: {
            word
            for example in mock("mock-10", train=400, test=2, strength=strength)["train"]
            for word in example.text.split()
        }
        - {FILLER}
        for strength in ("weak", "strong")
    }
    assert not found["weak"] & found["strong"]
    assert "horrible" in found["strong"] or "awful" in found["strong"]
    with pytest.raises(UserError, match="how strong"):
        mock("mock-1", lexicon=tmp_path, strength="weak")


def test_a_lexicon_without_words_is_told(tmp_path):
    for name in ("positive-words.txt", "negative-words.txt"):
        (tmp_path / name).write_text("; nothing\nsame\n")
    with pytest.raises(UserError, match="no words that are positive or negative only"):
        mock("mock-1", lexicon=tmp_path)
