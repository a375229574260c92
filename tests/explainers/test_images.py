"""Explainers of images against Captum, and on models whose right explanation is known."""

import numpy as np
import pytest
import torch
from captum import attr
from torch import nn

from tests.explainers.subjects import SIDE, images, subject
from trueness.errors import Unsupported, UserError
from trueness.explainers.masked_copies import Occlusion
from trueness.explainers.paths import IntegratedGradients
from trueness.kinds.image.data.batches import ImageSplit
from trueness.kinds.image.data.superpixels import quickshift
from trueness.kinds.image.explainers.catalogue import IMAGE_EXPLAINERS
from trueness.kinds.image.models.network import ImageNetwork
from trueness.stats import attribution_share


class Tensors(nn.Module):
    """The network as Captum wants it: from pixels to logits."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, pixels):
        return self.network.of_normalised((pixels - self.network.mean) / self.network.deviation)


@pytest.fixture(scope="module")
def trial():
    one = subject("pixels")
    return one.model, one.batch, Tensors(one.model), one.chosen


def scores(name, trial, target="predicted"):
    network, batch, *_ = trial
    method = IMAGE_EXPLAINERS[name] if isinstance(name, str) else name
    return method.attribute(network, batch, target).view(len(batch), SIDE, SIDE)


def close(one, other):
    return torch.allclose(one, other, atol=1e-5 * float(other.abs().max()) + 1e-9)


@pytest.mark.filterwarnings("ignore")
def test_gradients_are_captums(trial):
    _, batch, model, target = trial
    assert close(scores("gradient", trial), attr.Saliency(model).attribute(batch.pixels, target=target).sum(dim=1))
    blank = batch.blank.view(1, 3, 1, 1).expand_as(batch.pixels)
    whole = attr.IntegratedGradients(model).attribute(batch.pixels, blank, target=target, n_steps=8)
    assert close(scores(IntegratedGradients(8), trial), whole.sum(dim=1))
    times = attr.InputXGradient(model).attribute(batch.pixels, target=target) / batch.pixels * (batch.pixels - blank)
    good = (batch.pixels > 0).all(dim=1)
    assert close(scores("input-x-gradient", trial)[good], times.sum(dim=1)[good])
    guided = attr.GuidedBackprop(model).attribute(batch.pixels, target=target)
    assert close(scores("guided-backpropagation", trial), guided.abs().sum(dim=1))


@pytest.mark.filterwarnings("ignore")
def test_grad_cam_is_captums(trial):
    network, batch, model, target = trial
    layer = network.last_maps(batch)
    found = attr.LayerGradCam(model, layer).attribute(batch.pixels, target=target, relu_attributions=True)
    for name, mode in (("grad-cam", "bilinear"), ("grad-cam@zhou2022", "bicubic")):
        large = nn.functional.interpolate(found, (SIDE, SIDE), mode=mode, align_corners=False)[:, 0]
        assert close(scores(name, trial), large.abs())


@pytest.mark.parametrize(
    ("after", "last"),
    [
        ([nn.ReLU(), nn.AdaptiveMaxPool2d((1, 2))], 1),
        ([nn.GroupNorm(1, 4), nn.ReLU(), nn.AvgPool2d(2), nn.Dropout2d()], 2),
        ([nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 1), nn.AdaptiveAvgPool2d(1), nn.Conv2d(4, 4, 1)], 3),
    ],
)
def test_grad_cam_looks_at_the_last_convolution_and_not_at_pools(after, last):
    module = nn.Sequential(nn.Conv2d(3, 4, 3), *after, nn.Flatten(), nn.LazyLinear(2))
    batch = ImageSplit(images()).batch(range(2))
    module(batch.pixels)
    assert ImageNetwork(module, 2, (SIDE, SIDE)).last_maps(batch) is module[last]


def test_grad_cam_of_a_module_without_convolutions_looks_at_its_last_maps():
    module = nn.Sequential(nn.AvgPool2d(2), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(2))
    batch = ImageSplit(images()).batch(range(2))
    module(batch.pixels)
    assert ImageNetwork(module, 2, (SIDE, SIDE)).last_maps(batch) is module[1]


@pytest.mark.filterwarnings("ignore")
def test_occlusion_is_captums(trial):
    _, batch, model, target = trial
    blank = batch.blank.view(1, 3, 1, 1).expand_as(batch.pixels)
    for ours, forward in (("probability", lambda pixels: model(pixels).softmax(dim=-1)), ("logit", model)):
        theirs = attr.Occlusion(forward).attribute(batch.pixels, (3, 4, 4), (3, 2, 2), baselines=blank, target=target)
        assert close(scores(Occlusion(sliding_window_shapes=0.25, output=ours), trial), theirs[:, 0])


@pytest.mark.parametrize("size", [0.125, 0.3, 5, 40])
def test_windows_cover_all_pixels_and_lie_at_the_edges(size):
    batch = ImageSplit(images(1)).batch([0])
    groups, (keep,) = batch.windows(size)
    hidden = ~keep[:, groups[0]].view(len(keep), SIDE, SIDE)
    side = min(SIDE, max(1, round(size * SIDE) if size < 1 else size))
    assert hidden.any(dim=0).all()
    assert set(hidden.sum(dim=(1, 2)).tolist()) == {side * side}
    corners = {(0, 0), (0, SIDE - 1), (SIDE - 1, 0), (SIDE - 1, SIDE - 1)}
    assert all(hidden[:, row, column].any() for row, column in corners)


def test_a_hidden_superpixel_has_its_mean_colour_or_is_black():
    one = subject("images")
    fine = one.batch.finest()
    groups = fine.groups()
    for hiding in ("mean", "black"):
        shown = one.model.shown(fine, hiding, groups)
        for row in range(len(fine)):
            where = groups[row] == 1
            hidden = shown.hide(torch.zeros_like(fine.mask) | where).pixels[row].flatten(1)
            before = fine.pixels[row].flatten(1)
            wanted = before[:, where].mean(dim=1) if hiding == "mean" else torch.zeros(3)
            assert torch.allclose(hidden[:, where], wanted[:, None].expand(-1, int(where.sum())), atol=1e-6)
            assert torch.equal(hidden[:, ~where], before[:, ~where])


def test_superpixels_are_those_of_scikit_image():
    skimage = pytest.importorskip("skimage.segmentation")
    from sklearn.metrics import adjusted_rand_score

    from trueness.kinds.image.data.datasets import photo_crops

    some = photo_crops(32, train=2, dev=1, test=1)["train"].pixels
    ours = quickshift(torch.from_numpy(some).permute(0, 3, 1, 2).float() / 255, kernel_size=1, ratio=0.2)
    for mine, image in zip(ours, some, strict=True):
        theirs = skimage.quickshift(image, kernel_size=1, max_dist=200, ratio=0.2)
        assert int(mine.max()) > 3
        assert adjusted_rand_score(mine.numpy().ravel(), theirs.ravel()) > 0.97


class OnePixel(nn.Module):
    """Class 1 if the pixel in row 2, column 3 is bright: the right explanation is known."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x):
        value = self.weight * x[:, :, 2, 3].sum(dim=1)
        return torch.stack([-value, value], dim=1)


@pytest.mark.parametrize("name", ["gradient", "smooth-gradient", "integrated-gradients", "gradient-shap", "occlusion"])
def test_the_one_pixel_that_matters_is_found(name):
    network = ImageNetwork(OnePixel(), 2, (SIDE, SIDE))
    batch = ImageSplit(images()).batch(range(5))
    found = IMAGE_EXPLAINERS[name].attribute(network, batch).abs().view(5, SIDE, SIDE)
    assert (found[:, 2, 3] == found.amax(dim=(1, 2))).all()
    if name != "occlusion":  # a square covers more
        assert torch.allclose(found.sum(dim=(1, 2)), found[:, 2, 3])


def test_an_explanation_of_the_region_has_share_one_and_a_constant_one_its_size():
    region = np.zeros((2, 64), dtype=bool)
    region[:, :16] = True
    assert attribution_share(region.astype(float), region).values.tolist() == [1, 1]
    assert attribution_share(np.ones((2, 64)), region).values.tolist() == [0.25, 0.25]


def test_cells_of_pixels_sum_their_scores(trial):
    network, *_ = trial
    fine, coarse = (ImageSplit(images(), cell=cell).batch(range(5)) for cell in (1, 4))
    method = IMAGE_EXPLAINERS["integrated-gradients[n_steps=3]"]
    one = method.attribute(network, fine).view(5, 4, 4, 4, 4).sum(dim=(2, 4)).flatten(1)
    assert torch.allclose(one, method.attribute(network, coarse), atol=1e-5)
    where = torch.zeros_like(coarse.mask)
    where[:, 5] = True
    hidden = coarse.hide(where).pixels
    assert torch.equal(hidden[0, :, 4, 4], coarse.blank)
    assert torch.equal(hidden[:, :, :4], coarse.pixels[:, :, :4])
    with pytest.raises(UserError, match="cannot be cut"):
        ImageSplit(images(), cell=5)


def test_what_a_model_cannot_have_or_read():
    batch = ImageSplit(images()).batch(range(2))
    with pytest.raises(Unsupported, match="convolutional"):
        IMAGE_EXPLAINERS["grad-cam"].attribute(ImageNetwork(OnePixel(), 2, (SIDE, SIDE)), batch)
    with pytest.raises(UserError, match="reads images of 32 by 32 pixels, not 16 by 16"):
        IMAGE_EXPLAINERS["gradient"].attribute(ImageNetwork(OnePixel(), 2, (32, 32)), batch)
    with pytest.raises(UserError, match="5 classes"):
        IMAGE_EXPLAINERS["gradient"].attribute(ImageNetwork(OnePixel(), 5, (SIDE, SIDE)), batch)
