import numpy as np
import pytest
import torch

from tests.protocols.attention.test_adversary import view_of
from trueness.kinds.text.attention.permutation import permuted, permuted_logit, sampled_median


@pytest.mark.parametrize("padding", [0, 300])  # short and long texts are permuted in different ways
def test_permuting_rearranges_the_weights_within_the_mask(padding):
    mask = torch.tensor([[False, True, True, True, False], [False, True, True, False, False]])
    attention = torch.tensor([[0, 0.5, 0.3, 0.2, 0], [0, 0.9, 0.1, 0, 0]])
    mask, attention = (torch.nn.functional.pad(values, (0, padding)) for values in (mask, attention))
    found = permuted(attention, mask, 200, torch.Generator().manual_seed(0))
    assert (found[~mask[:, None].expand_as(found)] == 0).all()
    assert torch.equal(found.sort(dim=-1).values, attention.sort(dim=-1).values[:, None].expand_as(found))
    assert len({tuple(row) for row in found[0].tolist()}) == 6
    # Every weight is equally likely everywhere.
    assert found[0, :, 1:4].mean(dim=0).tolist() == pytest.approx([1 / 3] * 3, abs=0.05)


@torch.no_grad()
@pytest.mark.parametrize(("classes", "head"), [(2, "linear"), (3, "linear"), (3, "query"), (2, "concat")])
def test_the_median_is_that_of_decoding_every_permutation(classes, head):
    """Algorithm 2, literally: decode each permuted attention, take the median of the changes."""
    view, model = view_of(classes, head)
    ours = sampled_median(view, 25, seed=3)
    orders = permuted(view.attention.float(), view.mask, 25, torch.Generator().manual_seed(3)).double()
    changes = []
    for attention in orders.unbind(dim=1):
        changed = model.decode(view.states, attention, view.batch).softmax(dim=-1)
        changes.append(((changed - view.probability).abs().sum(dim=-1) / 2).numpy())
    assert ours.numpy() == pytest.approx(np.median(changes, axis=0), abs=1e-5)
    frugal = sampled_median(view, 25, seed=3, max_bytes=1)
    assert frugal.shape == ours.shape


@torch.no_grad()
def test_uniform_attention_permuted_changes_nothing():
    from tests.models.test_attentive import batch_of, build, examples
    from trueness.kinds.text.attention.view import AttentionView

    view = AttentionView(build(attention="uniform", classes=2), batch_of(examples(pairs=False)))
    assert sampled_median(view, 20).max() < 1e-6
    closed = permuted_logit(view)
    assert closed.deviation.max() < 1e-8
    assert closed.median_change().max() < 1e-6


@torch.no_grad()
def test_the_closed_form_has_the_mean_and_spread_of_all_permutations():
    import itertools

    view, _ = view_of(2, sizes=(4, 2, 6, 3))
    closed = permuted_logit(view)
    one = torch.ones(4, dtype=torch.int64)
    scores = view.log_odds(one, 1 - one)
    for row, size in enumerate((4, 2, 6, 3)):
        weights, z = view.attention[row, 1 : size + 1].numpy(), scores[row, 1 : size + 1].numpy()
        every = [np.dot(order, z) for order in itertools.permutations(weights)]
        assert float(closed.mean[row]) == pytest.approx(np.mean(every))
        assert float(closed.deviation[row]) == pytest.approx(np.std(every))
        assert float(closed.observed[row]) == pytest.approx(np.dot(weights, z))


@torch.no_grad()
def test_the_closed_median_is_near_that_of_many_samples_for_long_texts():
    view, _ = view_of(2, sizes=(60, 70, 80), one_logit=True)
    closed, sampled = permuted_logit(view).median_change(), sampled_median(view, 4000)
    assert (closed - sampled).abs().max() < 0.03


@torch.no_grad()
def test_one_token_cannot_be_permuted_and_more_classes_have_no_closed_form():
    view, _ = view_of(2, sizes=(1,))
    assert float(permuted_logit(view).median_change()) == pytest.approx(0, abs=1e-9)
    view, _ = view_of(3)
    with pytest.raises(ValueError, match="two classes"):
        permuted_logit(view)
