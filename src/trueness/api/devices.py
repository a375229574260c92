"""Devices by name."""

from __future__ import annotations

import re

from trueness.errors import UserError


def check_device(device: str) -> None:
    """Refuse a device that has no name or is not there."""
    match = re.fullmatch(r"cpu|(cuda|mps)(?::(\d+))?", device)
    if not match:
        raise UserError(f"There is no device {device!r}; use cpu, cuda:0, cuda:1, ... or mps.")
    if match[1]:
        import torch

        module = torch.cuda if match[1] == "cuda" else torch.mps
        count = module.device_count() if module.is_available() else 0
        if int(match[2] or 0) >= count:
            raise UserError(f"The device {device} is not there: torch finds {count} of that kind.")
