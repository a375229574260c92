"""Integrated gradients, LIME and Kernel SHAP on a small BiLSTM, against Captum's defaults on the same model."""

from collections.abc import Callable

import numpy as np
import torch
from captum import attr

from benchmarks.report import TIE, line, ratio
from trueness.explainers.masked_copies import KernelShap, Lime
from trueness.explainers.masking import explain_together
from trueness.explainers.paths import IntegratedGradients
from trueness.kinds.text.data.batches import Batch, EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.kinds.text.models.attentive import AttentiveClassifier, AttentiveConfig

TEXTS, TOKENS, SAMPLES = 8, 20, 200


def main() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(300)]
    examples = [TextExample(tuple(rng.choice(words, TOKENS).tolist()), row % 2) for row in range(TEXTS)]
    vocabulary = Vocabulary.of(examples)
    torch.manual_seed(0)
    model = AttentiveClassifier(AttentiveConfig(len(vocabulary), 2, embedding=50, hidden=32)).to(device).eval()
    batch = EncodedSplit(examples, vocabulary, device).batch(range(TEXTS))
    target = model(batch).logits.argmax(dim=-1)
    embeddings = model.embed(batch).detach()
    positions = torch.arange(embeddings.shape[1], device=device)[None, :, None].expand(1, -1, embeddings.shape[2])

    def forward(values: torch.Tensor) -> torch.Tensor:
        rows = torch.arange(len(values), device=device) % TEXTS
        logits: torch.Tensor = model(batch.rows(rows), embeddings=values).logits
        return logits

    def one(row: int) -> tuple[Batch, torch.Tensor]:
        return batch.rows(torch.tensor([row], device=device)), embeddings[row : row + 1]

    def captum_masking(kind: type) -> None:
        # Captum's perturbation methods take one example at a time.
        for row in range(TEXTS):
            single, values = one(row)
            method = kind(lambda inputs, single=single: model(single, embeddings=inputs).logits.softmax(dim=-1))
            method.attribute(values, target=int(target[row]), feature_mask=positions, n_samples=SAMPLES)

    def integrated() -> None:
        model.train()  # cuDNN differentiates recurrent layers in training mode only; there is no dropout
        attr.IntegratedGradients(forward).attribute(embeddings, target=target, n_steps=50)

    def compare(name: str, ours: Callable[[], object], theirs: Callable[[], object]) -> None:
        with torch.no_grad():
            ours()
        ahead = ratio(theirs, ours)
        line(f"{name}, {TEXTS} texts of {TOKENS} tokens, {device.type}, against Captum", ahead, "x", TIE, at_least=True)

    compare("integrated gradients, 50 steps", lambda: IntegratedGradients().attribute(model, batch), integrated)
    lime, shap = Lime(SAMPLES), KernelShap(SAMPLES)
    compare(f"LIME, {SAMPLES} samples", lambda: lime.attribute(model, batch), lambda: captum_masking(attr.Lime))
    compare(
        f"Kernel SHAP, {SAMPLES} samples",
        lambda: shap.attribute(model, batch),
        lambda: captum_masking(attr.KernelShap),
    )
    both = ratio(
        lambda: (lime.attribute(model, batch), shap.attribute(model, batch)),
        lambda: explain_together([lime, shap], model, batch),
    )
    line("LIME and Kernel SHAP from one pool, against one after the other", both, "x", 0.9, at_least=True)
