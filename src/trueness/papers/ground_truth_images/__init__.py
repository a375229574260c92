"""Planted evidence in images (Zhou et al. 2022, section 5): do saliency maps find what a model had to use?"""

from trueness.papers.ground_truth_images.study import GroundTruthImagesStudy, plan
from trueness.studies.kinds import StudyKind, later

GROUND_TRUTH_IMAGES = StudyKind(
    name="ground-truth-images",
    description="artefacts are planted in images; which saliency maps find them, of models that had to use them?",
    folder=__name__,
    schema=GroundTruthImagesStudy,
    plan=plan,
    figures=later(__name__, "figures"),
    tables=later(__name__, "tables"),
    intervals="Student's over runs (models) that used the artefact; n counts them",
    headlines=("accuracy", "attribution share"),
)
