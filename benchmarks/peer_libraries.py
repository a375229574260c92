"""Libraries beside Captum: shap, lime and interpreto where they are installed, ferret in a process of its own."""

import importlib
import json
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.peer_setting import SHAPES, Peer, Setting, as_words, coder


@dataclass(frozen=True)
class Elsewhere:
    """A peer in a process of its own, which tells its own seconds."""

    asked: Callable[[], dict[str, Any]]

    def __call__(self) -> Tensor:
        return torch.tensor(self.asked()["scores"])

    def seconds(self) -> float:
        return float(self.asked()["seconds"])


class Ferret:
    """ferret, whose versions are not ours: a process of another Python about one model and text (ferret_peer.py)."""

    def __init__(self, one: Setting, python: str) -> None:
        self.sizes = one.sizes
        self.folder = tempfile.TemporaryDirectory()
        one.model.save_pretrained(self.folder.name)
        coder().save_pretrained(self.folder.name)
        text = Path(self.folder.name) / "text"
        text.write_text(as_words(one))
        command = [python, str(Path(__file__).with_name("ferret_peer.py")), self.folder.name, str(text)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.versions = self._heard()

    def peers(self, method: str, size: str, **options: Any) -> dict[str, Callable[[], Any]]:
        """At every batch size."""
        found: dict[str, Callable[[], Any]] = {}
        for number in self.sizes if size else (1,):
            told = {**options, **({size: number} if size else {})}
            asked = {"method": method, "options": {"call_args": told}}
            found[f"ferret {number} at once"] = Elsewhere(partial(self._ask, asked))
        return found

    def _ask(self, what: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        return self._heard()

    def _heard(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("ferret's process ended.")
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        self.process.communicate()
        self.folder.cleanup()


def other_masking(kind: str, peer: Peer, one: Setting, count: int) -> dict[str, Callable[[], Any]]:
    """The libraries shap and lime, where they are installed; their model functions take batches of the largest size."""
    size = max(one.sizes)
    if kind == "KernelShap" and _there("shap"):
        shap = importlib.import_module("shap")

        def kernel() -> Any:
            np.random.seed(one.seed)  # noqa: NPY002  # what it draws from
            explainer = shap.KernelExplainer(lambda keep: peer.hidden(keep, size), np.zeros((1, count)))
            return explainer.shap_values(np.ones((1, count)), nsamples=one.samples, silent=True, l1_reg=False)[0]

        return {"shap": kernel}
    if kind == "Lime" and _there("lime"):
        texts = importlib.import_module("lime.lime_text")

        def lime() -> Any:
            drawn = np.random.RandomState(one.seed)  # what it takes
            explainer = texts.LimeTextExplainer(split_expression=" ", bow=False, mask_string="-", random_state=drawn)

            def predict(given: list[str]) -> Any:
                keep = np.array([[word != "-" for word in text.split(" ")] for text in given])
                found = peer.hidden(keep, size)
                return np.stack([found, 1 - found], axis=1)

            text = " ".join(f"w{number}" for number in range(count))
            said = explainer.explain_instance(text, predict, labels=(0,), num_features=count, num_samples=one.samples)
            scores = np.zeros(count)
            for place, score in said.as_map()[0]:
                scores[place] = score
            return scores

        return {"lime": lime}
    return {}


def interpreto(peer: Peer, one: Setting, kind: str, **options: Any) -> dict[str, Callable[[], Any]]:
    """The library interpreto, where it is installed and the text is of random tokens.

    It reduces gradients and takes a baseline in its own way, so that only its leave-one-out has our values.
    """
    if not _there("interpreto") or one.shape not in SHAPES:
        return {}
    made = importlib.import_module("interpreto")
    token = importlib.import_module("interpreto.commons.granularity").Granularity.TOKEN
    modes = importlib.import_module("interpreto.attributions").InferenceModes
    masking = kind in ("Occlusion", "Lime", "KernelShap")
    told = {"inference_mode": modes.SOFTMAX if masking else modes.LOGITS, "device": torch.device(one.device)}
    text, target = as_words(one), torch.tensor([0])

    def run(size: int) -> Any:
        torch.manual_seed(one.seed)
        with peer:
            explainer = getattr(made, kind)(one.model, coder(), batch_size=size, granularity=token, **told, **options)
            return explainer.explain(text, targets=target)[0].attributions[0].detach()

    return {f"interpreto {size} at once": partial(run, size) for size in (one.sizes if kind != "Saliency" else (1,))}


def _there(name: str) -> bool:
    return importlib.util.find_spec(name) is not None
