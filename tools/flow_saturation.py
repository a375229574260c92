"""How much attention flow tells tokens apart: python tools/flow_saturation.py ENCODER DATASET TEXTS > FILE.csv.

ENCODER is minilm-l6 or the folder of a transformer. One row a text and a number of layers, counted from the words up:
the coefficient of variation over tokens of flow and of rollout, and the share of tokens whose flow is saturated, that
is, as large as the edges into the token or out of the source allow whatever the layers between do.
"""

from __future__ import annotations

import csv
import sys

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer  # type: ignore[attr-defined,unused-ignore]

from trueness.data.dataset import drawn_examples
from trueness.kinds.text.data.datasets import load_text
from trueness.kinds.text.explainers.flow import attention_flow
from trueness.kinds.text.models.pretrained import find_pretrained

FULL = 1 - 1e-6


def main(encoder: str, dataset: str, texts: int) -> None:
    """Write the table."""
    torch.set_num_threads(1)
    folder = find_pretrained(encoder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    table = csv.writer(sys.stdout)
    table.writerow(
        ["tokens", "layers", "flow variation", "rollout variation", "saturated at the sink", "saturated at the source"]
    )
    for example in drawn_examples(load_text(dataset)["test"], texts):
        coded = tokenizer(" ".join(example.tokens), return_tensors="pt", truncation=True, max_length=128)
        with torch.no_grad():
            found = model(**coded, output_attentions=True).attentions
        # As Abnar and Zuidema: heads averaged, half of each layer is the residual.
        heads = np.stack([one[0].double().mean(dim=0).numpy() for one in found])
        mixed = (heads + np.eye(heads.shape[-1])) / 2
        for number in range(1, len(mixed) + 1):
            layers = mixed[:number]
            flow = attention_flow(layers)
            rollout = np.linalg.multi_dot([*layers[::-1], np.eye(len(flow))])[0] if number > 1 else layers[0, 0]
            into = layers[0].sum(axis=0)
            inner = slice(1, -1)  # without the markers of begin and end
            row = [_variation(flow[inner]), _variation(rollout[inner])]
            row += [float((flow >= FULL * into)[inner].mean()), float((flow >= FULL)[inner].mean())]
            table.writerow([len(flow), number, *(f"{value:.4f}" for value in row)])


def _variation(values: np.ndarray) -> float:
    return float(values.std() / values.mean())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
