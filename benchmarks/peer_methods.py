"""The same explanation by us and by other libraries: every method, each peer with several sizes of its batches."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from benchmarks.peer_libraries import Ferret, interpreto, other_masking
from benchmarks.peer_setting import Peer, Setting
from trueness.explainers.gradients import Gradient
from trueness.explainers.masked_copies import KernelShap, Lime
from trueness.explainers.noisy_copies import SmoothGradient
from trueness.explainers.paths import IntegratedGradients
from trueness.kinds.text.explainers.leave_one_out import LeaveOneOut
from trueness.models.network import inspecting
from trueness.models.packing import in_batches


@dataclass(frozen=True)
class Contest:
    """Ours against peers; all return (tokens,) scores."""

    name: str
    ours: Callable[[], Any]
    peers: dict[str, Callable[[], Any]]
    equal: tuple[str, ...]
    """Libraries whose values must be the same as ours."""
    passes: int
    """Forward passes of the text that the method needs."""


def contests(one: Setting, ferret: Ferret | None = None) -> list[Contest]:
    """Every method."""
    peer, count = Peer(one), one.tokens - 2
    network, batch, sizes = one.network, one.batch, one.sizes

    def ours(explainer: Any) -> Callable[[], Tensor]:
        return lambda: explainer.attribute(network, batch, 0)[0, 1:-1]

    def captum(kind: str, size: str, most: int, *, reduce: str = "sum", **options: Any) -> dict[str, Callable[[], Any]]:
        from captum import attr
        from captum._utils.models.linear_model import SkLearnLinearRegression

        def run(at_once: int | None) -> Tensor:
            torch.manual_seed(one.seed)
            masking = kind in ("FeatureAblation", "Lime", "KernelShap")
            with peer, torch.set_grad_enabled(not masking):
                # Its usual lasso shrinks small scores to nothing.
                more = {"interpretable_model": SkLearnLinearRegression()} if kind == "Lime" else {}
                made = getattr(attr, kind)(peer.probability if masking else peer.logits, **more)
                if kind == "Saliency" and "nt_samples" in options:
                    made = attr.NoiseTunnel(made)
                given = dict(options)
                if masking:
                    given |= {"baselines": peer.mask, "feature_mask": peer.features}
                if size:
                    given[size] = at_once
                found: Tensor = made.attribute(peer.embeddings, target=0, **given)[0].detach()
            return found.norm(dim=-1) if reduce == "norm" else found[:, 0] if masking else found.sum(dim=-1)

        if not size:
            return {"captum": partial(run, None)}
        return {
            f"captum {number} at once": partial(run, number) for number in sorted({min(size, most) for size in sizes})
        }

    other = partial(interpreto, peer, one)
    third: Callable[..., dict[str, Callable[[], Any]]] = (lambda *_, **__: {}) if ferret is None else ferret.peers
    found = [
        Contest(
            "gradient",
            ours(Gradient()),
            captum("Saliency", "", 1, reduce="norm", abs=False)
            | other("Saliency", input_x_gradient=False)
            | third("gradient", ""),
            ("captum",),
            1,
        ),
        Contest(
            "integrated gradients",
            ours(IntegratedGradients(one.steps)),
            captum("IntegratedGradients", "internal_batch_size", one.steps, n_steps=one.steps)
            | other("IntegratedGradients", n_perturbations=one.steps)
            | third("integrated gradients", "internal_batch_size", n_steps=one.steps),
            ("captum", "ferret"),
            one.steps,
        ),
        Contest(
            "smooth gradient",
            ours(SmoothGradient(one.steps)),
            captum(
                "Saliency",
                "nt_samples_batch_size",
                one.steps,
                reduce="norm",
                abs=False,
                nt_samples=one.steps,
                stdevs=0.01,
            )
            | other("SmoothGrad", input_x_gradient=False, n_perturbations=one.steps, noise_std=0.01),
            (),
            one.steps,
        ),
        Contest(
            "leave-one-out (mask)",
            ours(LeaveOneOut("mask")),
            captum("FeatureAblation", "perturbations_per_eval", count) | other("Occlusion"),
            ("captum", "interpreto"),
            count + 1,
        ),
    ]
    for name, made, kind in (
        ("LIME", Lime(one.samples, seed=one.seed), "Lime"),
        # Captum counts the whole and the empty text among its samples, ours asks about them besides.
        ("Kernel SHAP", KernelShap(one.samples - 2, seed=one.seed), "KernelShap"),
    ):
        others = captum(kind, "perturbations_per_eval", one.samples, n_samples=one.samples)
        others |= other_masking(kind, peer, one, count) | other(kind, n_perturbations=one.samples)
        if kind == "Lime":
            others |= third("LIME", "batch_size", num_samples=one.samples)
        found.append(Contest(name, ours(made), others, (), one.samples))
    return found


def bare(one: Setting, passes: int) -> Callable[[], None]:
    """So many fused forward passes of the text, and nothing else."""

    def run() -> None:
        rows = torch.zeros(passes, dtype=torch.long, device=one.device)
        with inspecting(one.network):
            list(in_batches(one.network, one.batch, rows, lambda _, texts: one.network.logits(texts)))

    return run
