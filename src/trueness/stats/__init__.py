"""Pure functions on arrays: rank correlation, top-k agreement, divergences, intervals, corrections, curves.

Batched statistics take (instances, features) with an optional boolean mask and return `Measured`: a value per
instance, or the reason why there is none. The torch twins of the divergences are in `stats.differentiable`.
"""

from trueness.stats.corrections import benjamini_hochberg, holm
from trueness.stats.crossed import crossed_difference, crossed_interval, crossed_p_value, of_pairs
from trueness.stats.curves import AreaBetweenCurves, area_between_curves
from trueness.stats.detection import attribution_share, detection_auc, mean_rank, precision_at
from trueness.stats.divergence import jensen_shannon, kl_divergence, total_variation
from trueness.stats.equivalence import Outcome, equivalence, margin_of_deviations, margin_of_runs
from trueness.stats.intervals import Interval, difference_interval, mean_interval, t_interval, within
from trueness.stats.overlap import (
    Overlap,
    TopK,
    chance_corrected,
    pairwise_rank_agreement,
    rank_biased_overlap,
    top_k_agreement,
    top_k_kendall,
)
from trueness.stats.rank import Kendall, kendall, pearson, spearman, weighted_kendall
from trueness.stats.undefined import Measured, Reason, Undefined

__all__ = [
    "AreaBetweenCurves",
    "Interval",
    "Kendall",
    "Measured",
    "Outcome",
    "Overlap",
    "Reason",
    "TopK",
    "Undefined",
    "area_between_curves",
    "attribution_share",
    "benjamini_hochberg",
    "chance_corrected",
    "crossed_difference",
    "crossed_interval",
    "crossed_p_value",
    "detection_auc",
    "difference_interval",
    "equivalence",
    "holm",
    "jensen_shannon",
    "kendall",
    "kl_divergence",
    "margin_of_deviations",
    "margin_of_runs",
    "mean_interval",
    "mean_rank",
    "of_pairs",
    "pairwise_rank_agreement",
    "pearson",
    "precision_at",
    "rank_biased_overlap",
    "spearman",
    "t_interval",
    "top_k_agreement",
    "top_k_kendall",
    "total_variation",
    "weighted_kendall",
    "within",
]
