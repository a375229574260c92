"""What the command line does, as functions; each is exported (`as`), and `trueness` lists the same names."""

from trueness.api.arrays import recursive_roar as recursive_roar
from trueness.api.audit import AuditPlan as AuditPlan
from trueness.api.audit import audit as audit
from trueness.api.catalogue import list_names
from trueness.api.ratings import rating as rating
from trueness.api.studies import Plan as Plan
from trueness.api.studies import StudyRun as StudyRun
from trueness.api.studies import compare as compare
from trueness.api.studies import dry_run as dry_run
from trueness.api.studies import open_run as open_run
from trueness.api.studies import plan as plan
from trueness.api.studies import run as run
from trueness.api.texts import adversarial_attention as adversarial_attention
from trueness.api.texts import agreement as agreement
from trueness.api.texts import attefa as attefa
from trueness.api.texts import evaluate as evaluate
from trueness.api.texts import explain as explain
from trueness.api.texts import faithfulness as faithfulness
from trueness.api.texts import fine_tune as fine_tune
from trueness.api.texts import load_dataset as load_dataset
from trueness.api.texts import load_model as load_model
from trueness.api.texts import train as train
from trueness.api.verification import Verification as Verification
from trueness.api.verification import verify as verify
from trueness.studies import load_study as load_study

list = list_names  # noqa: A001  # as the command
