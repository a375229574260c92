"""Images: planting against ready-made batches, and saliency maps against Captum's default calls on the same model.

Both give one score a pixel. On a GPU ResNet-34 and images of 128 pixels, on a CPU the small network and 48 pixels. LIME
also against the lime package in batches of several sizes, where that is installed (`make bench-peers` installs it).
"""

import contextlib
import functools
import importlib.util
import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from captum import attr
from torch import nn

from benchmarks.report import TIE, line, ratio, seconds
from trueness.kinds.image.data.batches import ImageBatch, ImageSplit
from trueness.kinds.image.data.images import Images
from trueness.kinds.image.data.manipulations import PLANTED, Manipulation
from trueness.kinds.image.data.superpixels import quickshift
from trueness.kinds.image.explainers.catalogue import IMAGE_EXPLAINERS
from trueness.kinds.image.models.families import IMAGE_MODELS
from trueness.kinds.image.models.network import ImageNetwork

SAMPLES = 200


class _Tensors(nn.Module):
    """The network as a module from pixels to logits."""

    def __init__(self, network: ImageNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.network.of_normalised((pixels - self.network.mean) / self.network.deviation)


def main() -> None:
    gpu = torch.cuda.is_available()
    device, size, family, count = ("cuda", 128, "resnet-34", 32) if gpu else ("cpu", 48, "small-cnn", 4)
    rng = np.random.default_rng(0)
    number = 4096 if gpu else 512
    small = rng.integers(0, 256, (number, size // 8, size // 8, 3), dtype=np.uint8)
    images = Images(small.repeat(8, axis=1).repeat(8, axis=2), rng.integers(0, 2, number).astype(np.int64))
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

    ours = functools.partial(epoch, lambda: split.batches(rows))
    bare = functools.partial(epoch, lambda: ready)
    ours(), bare()
    times = [(seconds(ours, 1), seconds(bare, 1)) for _ in range(5)]
    longer = float(np.median([one for one, _ in times]) / np.median([other for _, other in times]))
    limit = 1.1 if device == "cuda" else 2.0
    line(
        f"training with {name} planted on the way, {device}, against ready batches", longer, "x", limit, at_least=False
    )
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
    theirs: Sequence[tuple[str, Callable[[], object]]] = (
        ("gradient", lambda: attr.Saliency(forward).attribute(pixels, target=target).sum(dim=1)),
        (
            "smooth-gradient",
            lambda: (
                attr.NoiseTunnel(attr.Saliency(forward))
                .attribute(pixels, target=target, nt_samples=50, stdevs=0.15)
                .sum(dim=1)
            ),
        ),
        (
            "grad-cam",
            lambda: attr.LayerAttribution.interpolate(
                attr.LayerGradCam(forward, layer).attribute(pixels, target=target, relu_attributions=True),
                tuple(pixels.shape[2:]),
                "bilinear",
            ),
        ),
        (
            "integrated-gradients",
            lambda: attr.IntegratedGradients(forward).attribute(pixels, blank, target=target, n_steps=50).sum(dim=1),
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
    )
    for name, call in theirs:
        # Our noise is fixed by the image and the seed, Captum's is not: a quarter of the time of so small a network.
        limit = 0.8 if name == "smooth-gradient" and device == "cpu" else TIE
        _against("Captum", name, network, batch, call, device, limit=limit)
    few = batch.rows(torch.arange(min(len(batch), 8), device=pixels.device))
    name = f"lime[n_samples={SAMPLES}]"
    _against("Captum", name, network, few, functools.partial(_captum_lime, network, few), device, limit=3, tries=1)
    if importlib.util.find_spec("lime") is None:
        print("The lime package is not installed: LIME is not compared with it.")
        return
    for size in (10, SAMPLES) if device == "cpu" else (10, 64, SAMPLES):
        call = functools.partial(_lime_package, network, few, size)
        least = 3 if device == "cuda" else 1
        _against(f"lime in batches of {size}", name, network, few, call, device, limit=least, tries=2)


def _against(
    peer: str,
    name: str,
    network: ImageNetwork,
    batch: ImageBatch,
    call: Callable[[], object],
    device: str,
    limit: float,
    tries: int = 5,
) -> None:
    """Ours and theirs by turns, after one of each."""
    ours = functools.partial(IMAGE_EXPLAINERS[name].attribute, network, batch, "gold")
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):  # the lime package draws bars
        warnings.simplefilter("ignore")
        ours()
        if tries > 1:
            call()
        times = ratio(call, ours, tries)
    line(f"{name}, {device}", len(batch) / seconds(ours), "images/s", 0, at_least=True)
    line(f"{name}, {device}, against {peer}", times, "x", limit, at_least=True)


def _superpixels(batch: ImageBatch) -> torch.Tensor:
    return quickshift(batch.pixels, kernel_size=max(4 * batch.pixels.shape[2] / 224, 1.0))


def _captum_lime(network: ImageNetwork, batch: ImageBatch) -> None:
    """One image at a time, one copy at a time."""

    def probability(values: torch.Tensor) -> torch.Tensor:
        return network(batch, pixels=values).logits.softmax(dim=-1)  # type: ignore[no-any-return]

    segments = _superpixels(batch)
    for row, chosen in enumerate(batch.labels.tolist()):
        mask = segments[row][None, None].expand(1, 3, -1, -1)
        one = batch.pixels[row : row + 1]
        attr.Lime(probability).attribute(one, target=chosen, feature_mask=mask, n_samples=SAMPLES)


def _lime_package(network: ImageNetwork, batch: ImageBatch, size: int) -> None:
    """One image at a time, so many copies at a time; the superpixels are given to it."""
    from lime.lime_image import LimeImageExplainer  # type: ignore[import-not-found,import-untyped,unused-ignore]

    def probabilities(values: np.ndarray) -> np.ndarray:
        pixels = torch.from_numpy(np.asarray(values, dtype=np.float32)).to(batch.pixels.device).permute(0, 3, 1, 2)
        with torch.no_grad():
            said = network(batch, pixels=pixels).logits.softmax(dim=-1)
        return said.cpu().numpy()  # type: ignore[no-any-return]

    segments = _superpixels(batch).cpu().numpy()
    for row, chosen in enumerate(batch.labels.tolist()):
        image = batch.pixels[row].permute(1, 2, 0).double().cpu().numpy()
        LimeImageExplainer(random_state=0).explain_instance(
            image,
            probabilities,
            labels=(chosen,),
            top_labels=None,
            num_samples=SAMPLES,
            batch_size=size,
            segmentation_fn=lambda _, row=row: segments[row],
        )
