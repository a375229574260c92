"""The five artefacts: regions, visibility, draws, and slow per-pixel versions beside the vectorised ones."""

import colorsys
import math

import numpy as np
import pytest
import torch

from trueness.data.draws import uniform
from trueness.errors import UserError
from trueness.kinds.image.data import batches as image_batches
from trueness.kinds.image.data.batches import ImageSplit
from trueness.kinds.image.data.colours import to_hsv, to_rgb
from trueness.kinds.image.data.images import Images
from trueness.kinds.image.data.manipulations import (
    PLANTED,
    SIDE,
    CentralBrightness,
    PeripheralBlur,
    StripedHue,
    StripedNoise,
    Watermark,
    made_of,
    settings_of,
)
from trueness.kinds.text.data.planting import bound, reassignment

NUMBERS = torch.arange(3)


def colourful(side=56, count=3):
    return torch.rand((count, 3, side, side), generator=torch.Generator().manual_seed(0)) * 0.9 + 0.05


@pytest.mark.parametrize("name", list(PLANTED))
def test_nothing_changes_outside_the_region_and_something_inside(name):
    pixels = colourful(96)
    for drawn in (PLANTED[name].usual, PLANTED[name].by_region(np.random.default_rng(3))):
        region = drawn.region(96, 96)
        changed = drawn.apply(pixels, NUMBERS, 0)
        assert 0 < region.double().mean() < 1
        assert torch.equal(changed[:, :, ~region], pixels[:, :, ~region])
        assert (changed != pixels).any(dim=1)[:, region].any(dim=1).all()
        assert changed.min() >= 0
        assert changed.max() <= 1


@pytest.mark.parametrize("name", list(PLANTED))
def test_visibility_is_monotone_and_leaves_the_region_alone(name):
    pixels = torch.nn.functional.interpolate(colourful(14), 112, mode="bilinear")
    drawn = PLANTED[name].by_visibility(np.random.default_rng(1))
    levels = [drawn.at_level(value) for value in drawn.levels]
    assert all(torch.equal(one.region(112, 112), drawn.region(112, 112)) for one in levels)
    sizes = [float((one.apply(pixels, NUMBERS, 0) - pixels).abs().mean()) for one in levels]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


@pytest.mark.parametrize("name", list(PLANTED))
def test_an_image_shows_the_same_in_any_company(name):
    pixels, drawn = colourful(96), PLANTED[name].usual
    together = drawn.apply(pixels, NUMBERS, 7)
    alone = drawn.apply(pixels[2:], NUMBERS[2:], 7)
    assert torch.equal(together[2:], alone)
    assert made_of(settings_of(drawn)) == drawn
    if isinstance(drawn, StripedNoise | Watermark):
        assert not torch.equal(together, drawn.apply(pixels, NUMBERS, 8))


def slow(drawn, image, number, seed):
    """The same, pixel by pixel, for one image (height, width, 3)."""
    height, width, _ = image.shape
    found = image.copy()
    noise = uniform(seed, torch.tensor([number]), height * width, 1)[0].view(height, width).numpy()
    colours = uniform(seed, torch.tensor([number]), 3 * height * width, 2)[0].view(3, height, width).numpy()
    for row in range(height):
        for column in range(width):
            y, x = (row + 0.5) * SIDE / height, (column + 0.5) * SIDE / width
            away = math.hypot(y - SIDE / 2, x - SIDE / 2)
            hue, saturation, value = colorsys.rgb_to_hsv(*image[row, column])
            if isinstance(drawn, CentralBrightness) and away < drawn.radius:
                value += drawn.shift * math.cos(math.pi / 2 * away / drawn.radius) ** 2
                found[row, column] = colorsys.hsv_to_rgb(hue, saturation, min(max(value, 0), 1))
            elif isinstance(drawn, StripedHue) and drawn.top <= y < drawn.bottom:
                phase = (y - (drawn.top + drawn.bottom) / 2) / (drawn.bottom - drawn.top)
                hue = (hue + drawn.shift * math.sin(2 * math.pi * phase) ** 2) % 1
                found[row, column] = colorsys.hsv_to_rgb(hue, saturation, value)
            elif isinstance(drawn, StripedNoise) and drawn.top <= y < drawn.bottom:
                if noise[row, column] < drawn.probability:
                    found[row, column] = colours[:, row, column]
            elif isinstance(drawn, PeripheralBlur) and away > drawn.radius:
                found[row, column] = blurred(image, row, column, drawn.sigma * height / SIDE)
    return found


def blurred(image, row, column, sigma):
    reach = math.ceil(3 * sigma)
    total, mean = 0.0, np.zeros(3)
    for down in range(-reach, reach + 1):
        for right in range(-reach, reach + 1):
            weight = math.exp(-(down**2 + right**2) / (2 * sigma**2))
            there = np.clip(row + down, 0, image.shape[0] - 1), np.clip(column + right, 0, image.shape[1] - 1)
            total, mean = total + weight, mean + weight * image[there]
    return mean / total


@pytest.mark.parametrize(
    "drawn", [PeripheralBlur(90, 20), CentralBrightness(), StripedHue(20, 180, 0.25), StripedNoise(20, 180, 0.3)]
)
def test_the_vectorised_version_equals_one_per_pixel(drawn):
    pixels = colourful(20, 1)
    fast = drawn.apply(pixels, torch.tensor([5]), 3)[0].permute(1, 2, 0).numpy()
    image = pixels[0].permute(1, 2, 0).double().numpy()
    assert np.abs(fast - slow(drawn, image, 5, 3)).max() < 1e-5


def test_a_watermark_stays_in_its_box_wherever_it_falls():
    grey = torch.full((200, 3, 64, 64), 0.5)
    drawn = Watermark(20, 40, 160, 120)
    changed = (drawn.change(grey, torch.arange(200), 0) != grey).any(dim=1)
    assert not (changed & ~drawn.region(64, 64)).any()
    where = changed.any(dim=0)
    assert where[drawn.region(64, 64)].double().mean() > 0.9
    shown = drawn.apply(grey, torch.arange(200), 0)
    assert shown.max() > 0.7
    assert shown.min() < 0.3
    with pytest.raises(UserError, match="make the box larger"):
        Watermark(0, 0, 40, 40).apply(grey, torch.arange(200), 0)


def test_colours_survive_the_round_trip():
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (1, 3, 60, 60))
    pixels[0, :, 0, :8] = [[0, 255, 0, 255, 0, 0, 255, 128], [0, 255, 0, 0, 255, 0, 255, 128], [0, 255] * 4]
    values = torch.from_numpy(pixels / 255).float()
    assert (to_rgb(to_hsv(values)) - values).abs().max() < 1 / 255 / 100
    hsv = to_hsv(values)[0].permute(1, 2, 0).reshape(-1, 3)[:50]
    theirs = [colorsys.rgb_to_hsv(*pixel) for pixel in values[0].permute(1, 2, 0).reshape(-1, 3)[:50].tolist()]
    assert np.abs(hsv.numpy() - np.array(theirs)).max() < 1e-5


def test_draws_look_uniform():
    drawn = uniform(1, torch.arange(50), 2000)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert abs(float(drawn.mean()) - 0.5) < 0.005
    assert abs(float(torch.corrcoef(drawn[:2])[0, 1])) < 0.08
    assert not torch.equal(drawn, uniform(2, torch.arange(50), 2000))
    assert not torch.equal(drawn, uniform(1, torch.arange(50), 2000, 1))


def test_no_blind_model_is_better_than_the_bound():
    """p*: the best guess from the old label alone."""
    rng = np.random.default_rng(0)
    for kept in (0.5, 0.7, 1.0):
        old = rng.integers(0, 2, 20000)
        new = np.where(rng.random(20000) < kept, old, 1 - old)
        assert (old == new).mean() <= bound(reassignment(2, kept)) + 0.01


def test_a_split_plants_in_images_of_class_one_alone():
    rng = np.random.default_rng(0)
    images = Images(rng.integers(30, 220, (8, 32, 32, 3), dtype=np.uint8), np.arange(8) % 2)
    drawn = CentralBrightness()
    split = ImageSplit(images, manipulation=drawn)
    plain = ImageSplit(images)
    shown, before = split.batch(range(8)).pixels, plain.batch(range(8)).pixels
    assert torch.equal(shown[::2], before[::2])
    assert torch.equal(shown[1::2], drawn.apply(before[1::2], torch.arange(1, 8, 2), 0))
    few = split.only([3, 5])
    assert torch.equal(few.batch([0, 1]).pixels, shown[[3, 5]])
    assert torch.equal(few.background, split.background)
    relabelled = split.labelled([1] * 8)
    assert torch.equal(relabelled.batch(range(8)).pixels, shown)


@pytest.mark.parametrize("at_once", [1, 2 * 4 * 56 * 56, 1 << 24])
def test_pieces_made_at_once_show_what_each_shows_alone(at_once, monkeypatch):
    pixels = (colourful(56, 10) * 255).to(torch.uint8).permute(0, 2, 3, 1).numpy()
    split = ImageSplit(Images(pixels, np.arange(10) % 2), manipulation=PLANTED["noise"].usual)
    monkeypatch.setattr(ImageSplit, "on_gpu", True)
    monkeypatch.setattr(ImageSplit, "_index", lambda self, rows: torch.from_numpy(np.asarray(rows, dtype=np.int64)))
    monkeypatch.setattr(image_batches, "_AT_ONCE", at_once)
    pieces = [np.array([3, 1, 8]), np.array([0, 9, 2, 4]), np.array([5])]
    found = list(split.batches(pieces))
    assert [batch.numbers.tolist() for batch in found] == [piece.tolist() for piece in pieces]
    for batch, piece in zip(found, pieces, strict=True):
        alone = split.batch(piece)
        assert torch.equal(batch.pixels, alone.pixels)
        assert torch.equal(batch.labels, alone.labels)
    assert list(split.batches([])) == []
