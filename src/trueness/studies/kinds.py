"""The kinds of study: each binds a schema to the tasks it expands to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trueness.engine import Task
from trueness.registry import Registry
from trueness.studies.agreement import AgreementStudy, plan_agreement
from trueness.studies.attefa import AttefaStudy, plan_attefa
from trueness.studies.attention import AttentionStudy, plan_attention
from trueness.studies.ground_truth import GroundTruthStudy, plan_ground_truth
from trueness.studies.recursive_roar import RecursiveRoarStudy, plan_recursive_roar
from trueness.studies.roar_synthetic import RoarSynthetic, plan_roar_synthetic
from trueness.studies.schema import Study


@dataclass(frozen=True)
class StudyKind:
    """How studies of one kind are checked and planned; the planned task's payloads are the study's result."""

    schema: type[Study]
    plan: Callable[[Any], Task]


KINDS: Registry[StudyKind] = Registry("study kind")
KINDS.add(
    "roar-synthetic",
    StudyKind(RoarSynthetic, plan_roar_synthetic),
    "removal curves on synthetic vectors: ROAR, Recursive ROAR and reference orders",
)
KINDS.add(
    "attention-is-not-explanation",
    StudyKind(AttentionStudy, plan_attention),
    "attention against gradients and leave-one-out, permuted, and adversarial",
)
KINDS.add(
    "attefa",
    StudyKind(AttefaStudy, plan_attefa),
    "twins that predict the same but attend elsewhere, retrained and uniform models, attention as a guide",
)
KINDS.add(
    "agreement",
    StudyKind(AgreementStudy, plan_agreement),
    "agreement of all pairs of explanation methods, about our models and transformers",
)
KINDS.add(
    "ground-truth",
    StudyKind(GroundTruthStudy, plan_ground_truth),
    "evidence is planted in texts; which explanations find it, of models that had to use it?",
)
KINDS.add(
    "recursive-roar",
    StudyKind(RecursiveRoarStudy, plan_recursive_roar),
    "mask what is called important, train again, step by step: does performance fall faster than at random?",
)


def plan(study: Study) -> Task:
    """The task whose payloads are the study's result; its upstream is the whole plan."""
    return KINDS[study.kind].plan(study)
