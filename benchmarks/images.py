"""Images: planting against ready-made batches, and saliency maps against Captum's default calls on the same model.

On a GPU ResNet-34 and images of 128 pixels, on a CPU the small network and 48 pixels.
"""

import functools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from captum import attr  # type: ignore[import-untyped]
from torch import nn

from benchmarks.report import line, seconds
from trueness.data.image_batches import ImageBatch, ImageSplit
from trueness.data.images import Images
from trueness.data.manipulations import PLANTED, Manipulation
from trueness.data.superpixels import quickshift
from trueness.explainers.images import IMAGE_EXPLAINERS
from trueness.models.image_families import IMAGE_MODELS
from trueness.models.image_network import ImageNetwork

SAMPLES = 200


class _Tensors(nn.Module):
    """The network as a module from pixels to logits."""

    def __init__(self, network: ImageNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.network.logits((pixels - self.network.mean) / self.network.spread)


def main() -> None:
    gpu = torch.cuda.is_available()
    device, size, family, count = ("cuda", 128, "resnet-34", 32) if gpu else ("cpu", 48, "small-cnn", 4)
    rng = np.random.default_rng(0)
    small = rng.integers(0, 256, (512, size // 8, size // 8, 3), dtype=np.uint8)
    images = Images(small.repeat(8, axis=1).repeat(8, axis=2), rng.integers(0, 2, 512).astype(np.int64))
    network = IMAGE_MODELS[family].build(2, (size, size), 0).to(device).eval()
    for name in PLANTED:
        _planting(name, PLANTED[name].usual, images, network, device)
    network.eval()
    _maps(network, ImageSplit(images, device).batch(np.arange(count)), device)


def _planting(name: str, artefact: Manipulation, images: Images, network: ImageNetwork, device: str) -> None:
    """An epoch whose batches are gathered and planted on the way, against one whose batches lie ready."""
    split = ImageSplit(images, device, manipulation=artefact)
    optimiser = torch.optim.Adam(network.parameters(), fused=device == "cuda")
    rows = split.shuffled(128, np.random.default_rng(0))
    ready = [split.batch(some) for some in rows]

    def epoch(batches: Callable[[], Any]) -> None:
        network.train()
        for batch in batches():
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                loss = nn.functional.cross_entropy(network(batch).logits.float(), batch.labels)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()

    ours = functools.partial(epoch, lambda: (split.batch(some) for some in rows))
    bare = functools.partial(epoch, lambda: ready)
    ours(), bare()
    times = [(seconds(ours, 1), seconds(bare, 1)) for _ in range(5)]
    ratio = float(np.median([one for one, _ in times]) / np.median([other for _, other in times]))
    limit = 1.1 if device == "cuda" else 2.0
    line(f"training with {name} planted on the way, {device}, against ready batches", ratio, "x", limit, at_least=False)
    rate = len(images) / float(np.median([one for one, _ in times]))
    line(f"training with {name} planted on the way, {device}", rate, "images/s", 1, at_least=True)


def _maps(network: ImageNetwork, batch: ImageBatch, device: str) -> None:
    with torch.no_grad():
        target = network(batch).logits.argmax(dim=-1)
    batch = replace(batch, labels=target)  # both are told the class
    pixels = batch.pixels
    blank = batch.blank.view(1, 3, 1, 1).expand_as(pixels)

    def forward(values: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = network(batch, pixels=values).logits
        return logits

    layer = network.last_maps(batch)
    side = max(1, round(0.125 * pixels.shape[2]))
    segments = quickshift(pixels, kernel_size=max(4 * pixels.shape[2] / 224, 1.0))

    def lime() -> None:
        def probability(values: torch.Tensor) -> torch.Tensor:
            return forward(values).softmax(dim=-1)

        for row in range(len(batch)):  # one image at a time
            mask = segments[row][None, None].expand(1, 3, -1, -1)
            one = pixels[row : row + 1]
            attr.Lime(probability).attribute(one, target=int(target[row]), feature_mask=mask, n_samples=SAMPLES)

    theirs: Sequence[tuple[str, Callable[[], object]]] = (
        ("gradient", lambda: attr.Saliency(forward).attribute(pixels, target=target)),
        (
            "smooth-gradient",
            lambda: attr.NoiseTunnel(attr.Saliency(forward)).attribute(
                pixels, target=target, nt_samples=50, stdevs=0.15
            ),
        ),
        ("grad-cam", lambda: attr.LayerGradCam(forward, layer).attribute(pixels, target=target)),
        (
            "integrated-gradients",
            lambda: attr.IntegratedGradients(forward).attribute(pixels, blank, target=target, n_steps=50),
        ),
        (
            f"gradient-shap[n_samples={SAMPLES // 4}]",
            lambda: attr.GradientShap(forward).attribute(pixels, batch.background, SAMPLES // 4, target=target),
        ),
        (
            "occlusion",
            lambda: attr.Occlusion(forward).attribute(
                pixels, (3, side, side), (3, side // 2, side // 2), baselines=blank, target=target
            ),
        ),
        ("guided-backpropagation", lambda: attr.GuidedBackprop(_Tensors(network)).attribute(pixels, target=target)),
        (f"lime[n_samples={SAMPLES}]", lime),
    )
    for name, call in theirs:
        method = IMAGE_EXPLAINERS[name]
        ours = functools.partial(method.attribute, network, batch, "gold")
        ours()
        mine = seconds(ours)
        line(f"{name}, {device}", len(batch) / mine, "images/s", 0, at_least=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
            ratio = seconds(call, 2) / mine
        line(f"{name}, {device}, against Captum", ratio, "x", 3 if "lime" in name else 1, at_least=True)
