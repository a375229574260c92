"""One folder a paper: study files, schema and plan, published values, claims, figures, tables.

To add a kind of study is a folder here and a line below; see `docs/architecture.md`.
"""

from trueness.papers.agreement import AGREEMENT
from trueness.papers.attefa import ATTEFA
from trueness.papers.attention_is_not_explanation import ATTENTION_IS_NOT_EXPLANATION
from trueness.papers.ground_truth import GROUND_TRUTH
from trueness.papers.ground_truth_images import GROUND_TRUTH_IMAGES
from trueness.papers.recursive_roar import RECURSIVE_ROAR
from trueness.papers.roar_synthetic import ROAR_SYNTHETIC
from trueness.studies.kinds import KINDS

PAPERS = (
    AGREEMENT,
    ATTEFA,
    ATTENTION_IS_NOT_EXPLANATION,
    GROUND_TRUTH,
    GROUND_TRUTH_IMAGES,
    RECURSIVE_ROAR,
    ROAR_SYNTHETIC,
)

for _kind in PAPERS:
    KINDS.add(_kind.name, _kind, _kind.description)
