"""The same explanation by us and by other libraries: one text, one class, a transformer with random weights.

Peers get the model as transformers loads it (fused attention, no padding) and several sizes of their batches; the best
counts.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trueness.data.batches import Batch
from trueness.data.sequences import Sequences
from trueness.explainers import Gradient, IntegratedGradients, KernelShap, LeaveOneOut, Lime, SmoothGradient
from trueness.models.network import inspecting
from trueness.models.packing import in_batches
from trueness.models.transformer import Transformer

SHAPES = {
    "tiny": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128},
    "minilm": {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536},
    "bert-base": {},
}
CLS, SEP, MASK = 101, 102, 103


@dataclass(frozen=True)
class Setting:
    """One model, one text; how often each method looks."""

    shape: str
    tokens: int
    device: str
    steps: int
    samples: int
    sizes: tuple[int, ...]
    """Copies per call that peers may take."""
    network: Transformer = field(repr=False)
    batch: Batch = field(repr=False)
    seed: int = 0
    """Of everything that is drawn."""

    @property
    def model(self) -> Any:
        """The transformer itself."""
        return self.network.model


@dataclass(frozen=True)
class Contest:
    """Ours against peers; all return (tokens,) scores."""

    name: str
    ours: Callable[[], Any]
    peers: dict[str, Callable[[], Any]]
    equal: bool
    """Whether the values must be the same."""
    passes: int
    """Forward passes of the text that the method needs."""


def setting(
    shape: str, tokens: int, device: str, steps: int, samples: int, sizes: tuple[int, ...], text: str = ""
) -> Setting:
    """One of the shapes with random weights and random tokens, or a saved BERT with the beginning of a text."""
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    make: Any = BertForSequenceClassification
    if shape in SHAPES:
        sizes_of: Any = {"num_labels": 2, **SHAPES[shape]}
        network = Transformer(make(BertConfig(**sizes_of))).to(device)
        numbers = torch.randint(1000, 30_000, (1, tokens), device=device)
        numbers[0, 0], numbers[0, -1] = CLS, SEP
    else:
        network = Transformer(make.from_pretrained(shape)).to(device)
        numbers = _coded(shape, text, tokens).to(device)
    inside = torch.ones(1, tokens, dtype=torch.bool, device=device)
    inside[:, 0] = inside[:, -1] = False
    asked = Sequences(numbers, torch.tensor([tokens], device=device), inside, mask_token=MASK)
    batch = Batch(asked, torch.zeros(1, dtype=torch.long, device=device))
    return Setting(shape, tokens, device, steps, samples, sizes, network, batch)


def _coded(folder: str, text: str, tokens: int) -> Tensor:
    """(1, tokens) its first tokens."""
    from transformers import AutoTokenizer

    coder: Any = AutoTokenizer.from_pretrained(folder)
    found: Tensor = coder(text, truncation=True, max_length=tokens, return_tensors="pt")["input_ids"]
    if found.shape[1] < tokens:
        raise SystemExit(f"The text has {found.shape[1]} tokens, and {tokens} are asked for.")
    return found


class Peer:
    """The model as a peer calls it: fused attention, frozen weights, (copies, tokens, embedding) to (copies, classes).

    Begin and end are not explained, as by us.
    """

    def __init__(self, one: Setting) -> None:
        self.one = one
        whole = one.network.embed(one.batch).detach()
        self.begin, self.embeddings, self.end = whole[:, :1], whole[:, 1:-1], whole[:, -1:]
        self.mask = one.network.embedding.weight[MASK].detach().expand_as(self.embeddings)
        self.features = torch.arange(one.tokens - 2, device=one.device)[None, :, None].expand_as(self.embeddings)

    def __enter__(self) -> "Peer":
        self.one.model.config._attn_implementation = "sdpa"
        for weight in self.one.model.parameters():
            weight.requires_grad = False
        return self

    def __exit__(self, *_: object) -> None:
        self.one.model.config._attn_implementation = "eager"
        for weight in self.one.model.parameters():
            weight.requires_grad = True

    def logits(self, embeddings: Tensor) -> Tensor:
        ends = [one.expand(len(embeddings), -1, -1) for one in (self.begin, self.end)]
        found: Tensor = self.one.model(inputs_embeds=torch.cat([ends[0], embeddings, ends[1]], dim=1)).logits
        return found

    def probability(self, embeddings: Tensor) -> Tensor:
        return self.logits(embeddings).softmax(dim=-1)

    def hidden(self, keep: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
        """(masks,) probabilities with the tokens where `keep` (masks, tokens - 2) is 0 masked."""
        found = []
        with torch.no_grad(), self:
            for some in np.array_split(keep, max(1, -(-len(keep) // size))):
                inside = torch.from_numpy(some.astype(bool)).to(self.one.device)[..., None]
                found.append(self.probability(torch.where(inside, self.embeddings, self.mask))[:, 0].cpu().numpy())
        return np.concatenate(found)


def contests(one: Setting) -> list[Contest]:
    """Every method."""
    peer, count = Peer(one), one.tokens - 2
    network, batch, sizes = one.network, one.batch, one.sizes

    def ours(explainer: Any) -> Callable[[], Tensor]:
        return lambda: explainer.attribute(network, batch, 0)[0, 1:-1]

    def captum(kind: str, size: str, most: int, *, reduce: str = "sum", **options: Any) -> dict[str, Callable[[], Any]]:
        from captum import attr  # type: ignore[import-untyped]
        from captum._utils.models.linear_model import SkLearnLinearRegression  # type: ignore[import-untyped]

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

    other = partial(_interpreto, peer, one)
    found = [
        Contest(
            "gradient",
            ours(Gradient()),
            captum("Saliency", "", 1, reduce="norm", abs=False) | other("Saliency", input_x_gradient=False),
            True,
            1,
        ),
        Contest(
            "integrated gradients",
            ours(IntegratedGradients(one.steps)),
            captum("IntegratedGradients", "internal_batch_size", one.steps, n_steps=one.steps)
            | other("IntegratedGradients", n_perturbations=one.steps),
            True,
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
            False,
            one.steps,
        ),
        Contest(
            "leave-one-out (mask)",
            ours(LeaveOneOut("mask")),
            captum("FeatureAblation", "perturbations_per_eval", count) | other("Occlusion"),
            True,
            count + 1,
        ),
    ]
    for name, made, kind in (
        ("LIME", Lime(one.samples, seed=one.seed), "Lime"),
        ("Kernel SHAP", KernelShap(one.samples, seed=one.seed), "KernelShap"),
    ):
        others = captum(kind, "perturbations_per_eval", one.samples, n_samples=one.samples)
        others |= _other_masking(kind, peer, one, count) | other(kind, n_perturbations=one.samples)
        found.append(Contest(name, ours(made), others, False, one.samples))
    return found


def _other_masking(kind: str, peer: Peer, one: Setting, count: int) -> dict[str, Callable[[], Any]]:
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


def _interpreto(peer: Peer, one: Setting, kind: str, **options: Any) -> dict[str, Callable[[], Any]]:
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
    text, target = " ".join(f"w{number}" for number in one.batch.tokens[0, 1:-1].tolist()), torch.tensor([0])

    def run(size: int) -> Any:
        torch.manual_seed(one.seed)
        with peer:
            explainer = getattr(made, kind)(one.model, _coder(), batch_size=size, granularity=token, **told, **options)
            return explainer.explain(text, targets=target)[0].attributions[0].detach()

    return {f"interpreto {size} at once": partial(run, size) for size in (one.sizes if kind != "Saliency" else (1,))}


@cache
def _coder() -> Any:
    """A tokeniser whose words are the numbers of tokens: w1000 is token 1,000."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = {"[PAD]": 0, "[UNK]": 100, "[CLS]": CLS, "[SEP]": SEP, "[MASK]": MASK}
    words = {f"w{number}": number for number in range(30_522) if number not in special.values()}
    coder: Any = Tokenizer(models.WordLevel({**special, **words}, unk_token="[UNK]"))
    coder.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    ends = [("[CLS]", CLS), ("[SEP]", SEP)]
    coder.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    named = {f"{name[1:-1].lower()}_token": name for name in special}
    return PreTrainedTokenizerFast(tokenizer_object=coder, model_max_length=512, **named)


def _there(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def bare(one: Setting, passes: int) -> Callable[[], None]:
    """So many fused forward passes of the text, and nothing else."""

    def run() -> None:
        rows = torch.zeros(passes, dtype=torch.long, device=one.device)
        with inspecting(one.network):
            list(in_batches(one.network, one.batch, rows, lambda _, texts: one.network.logits(texts)))

    return run
