"""The loop of ROAR, followed step by step with a model that remembers what was hidden from it."""

from trueness.protocols.roar.removal import removal


def test_plain_explains_once_and_recursive_again_and_the_first_step_is_trained_once():
    explained, trained = [], []

    def explain(model, hidden):
        explained.append(model)
        assert model == hidden
        return {"": "abc", "a": "cb", "ac": "b"}[model]

    def hide(ranking, hidden, amount):
        return hidden + "".join([place for place in ranking if place not in hidden][: int(amount) - len(hidden)])

    def train(hidden):
        trained.append(hidden)
        return hidden, len(hidden)

    found = list(removal("", "", [1, 2, 3], ["plain", "recursive"], explain=explain, hide=hide, train=train))
    assert found == [
        ("plain", 1, "a", 1),
        ("plain", 2, "ab", 2),
        ("plain", 3, "abc", 3),
        ("recursive", 1, "a", 1),
        ("recursive", 2, "ac", 2),
        ("recursive", 3, "acb", 3),
    ]
    assert trained == ["a", "ab", "abc", "ac", "acb"]
    assert explained == ["", "a", "ac"]
