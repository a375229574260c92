"""Methods as papers computed them, by name: where each is, with which settings. Torch loads with the first one."""

from __future__ import annotations

from functools import partial

from trueness.explainers.catalogue import add_later
from trueness.kinds.image.explainers.catalogue import IMAGE_EXPLAINERS
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS

_of_texts, _of_images = partial(add_later, TEXT_EXPLAINERS), partial(add_later, IMAGE_EXPLAINERS)

_JAIN_WALLACE = "trueness.papers.attention_is_not_explanation.explainers"
_of_texts("gradient@jw2019", f"{_JAIN_WALLACE}:GradientJW2019", "|g . e| of the probability, attention held constant")
_of_texts("leave-one-out@jw2019", f"{_JAIN_WALLACE}:LeaveOneOutJW2019", "total variation when a token is deleted")

_MADSEN = "trueness.papers.recursive_roar.explainers"
_of_texts("gradient@madsen2022", f"{_MADSEN}:GradientMadsen2022", "L2 norm over the vocabulary of the logit's gradient")
_of_texts(
    "integrated-gradients@madsen2022",
    f"{_MADSEN}:IntegratedGradientsMadsen2022",
    "the same with each step scaled once more, as the code of Madsen et al. 2022",
)

_COURT = "trueness.papers.agreement.explainers"
_FROM_PADDING = {"baselines": "pad", "output": "probability"}
_of_texts(
    "integrated-gradients@court2022",
    "trueness.explainers.paths:IntegratedGradients",
    "the same of the probability from the padding token, as Order in the Court 2022",
    **_FROM_PADDING,
)
_of_texts(
    "deep-lift@court2022",
    f"{_COURT}:DeepLiftCourt2022",
    "gradient times way from padding: their DeepLIFT, Order in the Court 2022",
)
_of_texts(
    "gradient-shap@court2022",
    "trueness.explainers.noisy_copies:GradientShap",
    "five points on the way from padding, of the probability, as Order in the Court 2022",
    n_samples=5,
    **_FROM_PADDING,
)
_of_texts(
    "lime@court2022",
    f"{_COURT}:LimeCourt2022",
    "LIME as Order in the Court 2022: padding for hidden tokens, equal places of a pair are one feature",
)

_ZHOU = "trueness.papers.ground_truth_images.explainers"
_of_images(
    "grad-cam@zhou2022",
    "trueness.kinds.image.explainers.own:GradCam",
    "the same, enlarged as the authors' code does",
    resize="bicubic",
)
_of_images(
    "smooth-gradient@zhou2022", f"{_ZHOU}:SmoothGradientZhou2022", "sizes of the gradients of 50 noisy copies, averaged"
)
_of_images("lime@zhou2022", f"{_ZHOU}:LimeZhou2022", "LIME with 200 copies and black superpixels, without sign")
