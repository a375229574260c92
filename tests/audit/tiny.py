"""Texts in which one word decides, a tiny classifier that learned it, and the smallest audit."""

import csv
import json

import numpy as np

import trueness as tn
from tests.models import transformers
from trueness.models.recipes import Recipe

FILLER = tuple(f"{first}{middle}{last}" for first in "bdklm" for middle in "aeo" for last in "nrst")
SMALLEST = {
    **{"examples": 40, "repeat_examples": 30, "edit_examples": 30, "alone_examples": 30, "shuffled_examples": 30},
    **{"shuffles": 1, "planted_models": 1, "training_examples": 0, "companion_examples": 0, "relative_examples": 0},
    **{"layerwise_examples": 0, "noise_draws": 0, "searched_examples": 0, "shown_examples": 1},
    "hidden_shares": [0.2, 0.5],
}
PLANTED = {**SMALLEST, "training_examples": 600, "planted_models": 2, "planted_examples": 30}

PREDICT = '''
def predict(texts):
    """The share of good among good and bad."""
    rows = []
    for text in texts:
        words = text.split()
        good, bad = words.count("good") + 1, words.count("bad") + 1
        rows.append([bad / (good + bad), good / (good + bad)])
    return rows


predict.classes = ("no", "yes")
'''
SALIENCY = '''
import torch


def saliency(model, batch, target):
    """The same for every word."""
    return torch.ones(batch.mask.shape)
'''


def make_rows(number, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for index in range(number):
        words = rng.choice(FILLER, rng.integers(6, 11)).tolist()
        words[rng.integers(len(words))] = ("bad", "good")[index % 2]
        rows.append((" ".join(words), ("no", "yes")[index % 2]))
    return rows


def write_csv(path, rows, names=("text", "label")):
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(names)
        table.writerows(rows)
    return path


def make_place(place):
    """A folder with reviews.csv, more reviews in many.csv, mine.py, and a saved model."""
    write_csv(place / "reviews.csv", make_rows(200))
    write_csv(place / "many.csv", make_rows(600))
    (place / "mine.py").write_text(PREDICT + SALIENCY)
    data = place / "data"
    data.mkdir()
    for seed, (split, size) in enumerate((("train", 160), ("dev", 40), ("test", 40)), start=1):
        lines = [json.dumps({"text": text, "label": label}) + "\n" for text, label in make_rows(size, seed)]
        (data / f"{split}.jsonl").write_text("".join(lines))
    recipe = Recipe(epochs=4, batch_size=16, learning_rate=0.02)
    tn.train("average-additive", str(data), recipe=recipe, hidden=4, embedding=8).save(place / "model")
    return place


def make_transformer(folder, number):
    """A folder with a tiny Hugging Face classifier that learned nothing, and texts that its tokeniser knows."""
    transformers.model("bert", 2).float().save_pretrained(folder)
    transformers.tokenizer().save_pretrained(folder)
    rng = np.random.default_rng(0)
    words = ["film", "good", "bad", "a", "the", "dull", "scenes", "great", "plot"]
    return folder, [" ".join(rng.choice(words, rng.integers(5, 9))) for _ in range(number)]
