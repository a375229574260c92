import numpy as np
import pytest
import torch

from trueness.kinds.text.models.products import _parts, _summed_in_parts


@pytest.mark.parametrize("parts", [1, 2, 8])
def test_sums_over_rows_in_parts_are_the_sums(parts):
    rng = np.random.default_rng(0)
    both = [torch.from_numpy(rng.normal(size=(3, 40, 2 * size))).chunk(2, dim=-1)[1] for size in (4, 5)]
    slow = sum(np.einsum("gm,gn->gmn", *(part[:, row].numpy() for part in both)) for row in range(40))
    np.testing.assert_allclose(_summed_in_parts(*both, parts).numpy(), slow, atol=1e-12)


@pytest.mark.parametrize(
    ("rows", "places", "parts"),
    [(17600, 60, 4), (17600, 30, 8), (17600, 128, 1), (1800, 30, 1), (5001, 30, 1), (2**20, 1, 128)],
)
def test_only_many_rows_are_cut_and_until_a_gpu_is_full(rows, places, parts):
    assert _parts(rows, places) == parts
