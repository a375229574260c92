"""Explainers of images against Captum, against slow versions, and on models whose right explanation is known."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from captum import attr
from torch import nn
from trueness.kinds.image.explainers.gradients import ImageGradientShap, ImageIntegratedGradients, ImageSmoothGradient
from trueness.kinds.image.explainers.masking import ImageLime, ImageOcclusion

from trueness.data.draws import normal, uniform
from trueness.errors import Unsupported, UserError
from trueness.kinds.image.data.batches import ImageSplit
from trueness.kinds.image.data.images import Images
from trueness.kinds.image.data.superpixels import quickshift
from trueness.kinds.image.explainers.catalogue import IMAGE_EXPLAINERS
from trueness.kinds.image.models.families import IMAGE_MODELS
from trueness.kinds.image.models.network import ImageNetwork
from trueness.stats import attribution_share

SIDE = 16


def images(count=5, side=SIDE):
    rng = np.random.default_rng(0)
    small = rng.integers(0, 256, (count, side // 4, side // 4, 3), dtype=np.uint8)
    return Images(small.repeat(4, axis=1).repeat(4, axis=2), (np.arange(count) % 2).astype(np.int64))


class Tensors(nn.Module):
    """The network as Captum wants it: from pixels to logits."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, pixels):
        return self.network.of_normalised((pixels - self.network.mean) / self.network.deviation)


@pytest.fixture(scope="module")
def trial():
    network = IMAGE_MODELS["small-cnn"].build(3, (SIDE, SIDE), 0).eval()
    with torch.no_grad():
        for part in network.modules():
            if isinstance(part, nn.GroupNorm):
                part.bias.copy_(torch.linspace(-0.2, 0.4, len(part.bias)))
    split = ImageSplit(images())
    batch = split.batch(range(5))
    return network, batch, Tensors(network), network(batch).logits.argmax(dim=-1)


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
    whole = attr.IntegratedGradients(model).attribute(
        batch.pixels, blank, target=target, n_steps=8, method="riemann_middle"
    )
    assert close(scores(ImageIntegratedGradients(8), trial), whole.sum(dim=1))
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
    theirs = attr.Occlusion(model).attribute(batch.pixels, (3, 4, 4), (3, 2, 2), baselines=blank, target=target)
    assert close(scores(ImageOcclusion(0.25), trial), theirs[:, 0])
    assert ImageOcclusion(0.25).squares(16, 16).any(dim=0).all()


def test_smoothed_gradients_are_means_over_noisy_copies(trial):
    _, batch, model, target = trial
    for absolute in (False, True):
        found = scores(ImageSmoothGradient(n_samples=3, absolute=absolute), trial)
        for row in range(len(batch)):
            image = batch.pixels[row : row + 1]
            size = 0.15 * (image.max() - image.min())
            total = torch.zeros_like(image)
            for copy in range(3):
                drawn = normal(0, torch.tensor([int(batch.numbers[row]) * 3 + copy]), image.numel()).view_as(image)
                shown = (image + size * drawn).requires_grad_()
                (slope,) = torch.autograd.grad(model(shown)[0, target[row]], shown)
                total += (slope.abs() if absolute else slope) / 3
            assert close(found[row], total.abs().sum(dim=1)[0])


def test_gradient_shap_is_the_mean_over_ways_from_other_images(trial):
    _, batch, model, target = trial
    found = scores(ImageGradientShap(n_samples=4), trial)
    for row in range(len(batch)):
        image = batch.pixels[row : row + 1]
        drawn = uniform(0, batch.numbers[row : row + 1], 8).view(4, 2)
        total = torch.zeros_like(image)
        for begin, share in drawn.tolist():
            other = batch.background[int(begin * len(batch.background))][None]
            shown = (other + share * (image - other)).requires_grad_()
            (slope,) = torch.autograd.grad(model(shown)[0, target[row]], shown)
            total += slope * (image - other) / 4
        assert close(found[row], total.sum(dim=1)[0])


def test_lime_is_a_weighted_ridge_regression(trial):
    """Against scikit-learn, image by image, with the draws and superpixels at hand."""
    from sklearn.linear_model import Ridge
    from sklearn.metrics import pairwise_distances

    _, batch, model, target = trial
    for fill in ("mean", "black"):
        found = scores(ImageLime(60, fill=fill), trial)
        segments = quickshift(batch.pixels, kernel_size=1.0, ratio=0.05)
        for row in range(len(batch)):
            count = int(segments[row].max()) + 1
            shown = (uniform(0, batch.numbers[row] * 60 + torch.arange(60), count) < 0.5).numpy()
            shown[0] = True
            image = batch.pixels[row].permute(1, 2, 0).numpy()
            copies = np.repeat(image[None], 60, axis=0)
            for number in range(count):
                where = (segments[row] == number).numpy()
                copies[np.ix_(~shown[:, number])[0][:, None], *np.nonzero(where)] = (
                    image[where].mean(axis=0) if fill == "mean" else 0.0
                )
            pixels = torch.from_numpy(copies).permute(0, 3, 1, 2)
            said = model(pixels).softmax(dim=-1)[:, target[row]].detach().double().numpy()
            away = pairwise_distances(shown.astype(float), np.ones((1, count)), metric="cosine").ravel()
            weight = np.sqrt(np.exp(-(away**2) / 0.25**2))
            fitted = Ridge(alpha=1).fit(shown.astype(float), said, sample_weight=weight)
            theirs = torch.from_numpy(fitted.coef_)[segments[row]].float()
            assert torch.allclose(found[row], theirs, atol=1e-5)


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


def test_all_explainers_keep_the_contract_and_say_the_same_in_any_company(trial):
    network, batch, *_ = trial
    before = {name: value.clone() for name, value in network.state_dict().items()}
    few = {"lime": "lime[n_samples=20]", "smooth-gradient": "smooth-gradient[n_samples=3]"}
    for name in IMAGE_EXPLAINERS:
        method = IMAGE_EXPLAINERS[few.get(name, name)]
        method = replace(method, n_samples=4) if hasattr(method, "n_samples") else method
        found = method.attribute(network, batch, "gold")
        assert found.shape == batch.mask.shape
        assert method.facts.signed or (found >= 0).all(), name
        alone = method.attribute(network, batch.rows(torch.tensor([3])), "gold")
        assert torch.allclose(found[3], alone[0], atol=1e-5 * float(found.abs().max())), name
        assert torch.equal(method.attribute(network, batch, "gold"), found), name
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


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
    hidden = coarse.masked(where).pixels
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
