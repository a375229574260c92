"""One folder a paper: study files, schema and plan, published values, claims, figures, tables, published methods.

To add a kind of study is a folder here and a line below; see `docs/architecture.md`.
"""

PAPERS = (
    "agreement",
    "attefa",
    "attention_is_not_explanation",
    "ground_truth",
    "ground_truth_images",
    "recursive_roar",
    "roar_synthetic",
)
