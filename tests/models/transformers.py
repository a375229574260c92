"""Tiny transformers of five families with random weights, and a tokeniser that splits words into parts."""

import functools

import torch

FAMILIES = ("bert", "distilbert", "roberta", "electra", "deberta-v2")
WORDS = ["film", "good", "bad", "a", "the", "dull", "scene", "##s", "##ly", "great", "##ness", "plot"]


@functools.cache
def tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    numbers = {word: number for number, word in enumerate([*special, *WORDS])}
    raw = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=raw, model_input_names=inputs, **names)


def model(family, classes=3):
    import transformers

    shape = {
        "vocab_size": len(tokenizer()),
        "num_labels": classes,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": 64,
        "pad_token_id": 0,
    }
    if family == "distilbert":
        names = {"hidden_size": "dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads"}
        names["intermediate_size"] = "hidden_dim"
        shape = {names.get(name, name): value for name, value in shape.items()}
    if family == "roberta":
        shape["type_vocab_size"] = 1  # as the published ones
    if family == "electra":
        shape["embedding_size"] = 12
    if family == "deberta-v2":
        shape |= {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 8}
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(family, **shape)
    made = transformers.AutoModelForSequenceClassification.from_config(config, attn_implementation="eager")
    with torch.no_grad():  # random weights are small: make the output depend on the words
        for parameter in made.parameters():
            if parameter.dim() > 1:
                parameter.mul_(6)
    return made.double()
