"""A network that reads one word of two, by construction."""

import torch

from tests.models.test_attentive import VOCABULARY, build
from trueness.kinds.text.models.text_model import TextModel


def reader() -> TextModel:
    """Word 5 says no, word 6 yes, and no other word says anything."""
    model = build("average", "uniform", "linear", activation="identity", classes=2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.embedding.weight[5, 0], model.embedding.weight[6, 1] = 1, 1
        model.encoder.projection.weight[:2, :2] = torch.eye(2, dtype=torch.float64)
        model.output.weight[:2, :2] = 50 * torch.eye(2, dtype=torch.float64)
    return TextModel(model, VOCABULARY, ("no", "yes"))
