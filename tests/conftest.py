import contextlib
import os
import shutil

# Two workers of two threads each would wait for one another; set before torch is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch
from hypothesis import settings

import trueness as tn
from tests.miniatures import one_word
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS

settings.register_profile("here", deadline=None, derandomize=True)
settings.load_profile("here")
torch.backends.cudnn.allow_tf32 = False  # on a GPU, references are computed in full precision

# Whole studies, engines, commands and large models, the longest first: the last one to begin decides when two workers
# end. `make quick` leaves them out.
SLOW = (
    "tests/test_api.py",
    "tests/papers/test_ground_truth.py",
    "tests/docs/test_tutorials.py",
    "tests/papers/test_agreement.py",
    "tests/papers/test_recursive_roar.py",
    "tests/engine/test_clusters.py",
    "tests/test_door.py",
    "tests/test_text_api.py",
    "tests/cli/test_main.py",
    "tests/audit/test_audit.py",
    "tests/audit/test_relatives.py",
    "tests/cli/test_audit.py",
    "tests/browser/test_chromium.py",
    "tests/papers/test_attefa.py",
    "tests/papers/test_kinds.py",
    "tests/test_same_bytes.py",
    "tests/papers/test_attention_is_not_explanation.py",
    "tests/engine/test_driver.py",
    "tests/fuzz/test_fuzz.py",
    "tests/report/test_report.py",
    "tests/models/test_rationale.py",
    "tests/models/test_transformer.py",
    "tests/models/test_finetuning.py",
    "tests/models/test_pretrained.py",
    "tests/models/test_recurrence_kernels.py",
    "tests/models/test_stack.py",
    "tests/models/test_families.py",
    "tests/explainers/test_text.py",
    "tests/explainers/test_deep_lift.py",
    "tests/browser/test_server.py",
    "tests/browser/test_rating_pages.py",
    "tests/report/test_verify.py",
    "tests/papers/test_attention_claims.py",
    "tests/protocols/roar/test_step.py",
    "tests/stats/test_corrections.py",
    "tests/protocols/test_agreement_of_models.py",
    "tests/protocols/attention/test_ascent.py",
    "tests/models/test_cuda_graphs.py",
    "tests/test_layers.py",
    "tests/engine/test_local.py",
    "tests/engine/test_trouble.py",
    "tests/audit/test_images.py",
    "tests/report/test_vectors.py",
    "tests/engine/test_probe.py",
    "tests/models/test_twins.py",
    "tests/models/test_black_box.py",
    "tests/audit/test_exports.py",
    "tests/explainers/test_packing.py",
    "tests/protocols/attefa/test_twin_ceiling.py",
    "tests/protocols/roar/test_leak.py",
    "tests/ratings/test_ratings.py",
)

TINY = {"seeds": 5, "data": {"train": 600, "test": 4000}}


def pytest_collection_modifyitems(items):
    """The longest files first, each as a whole."""
    place = {name: number for number, name in enumerate(SLOW)}
    items.sort(key=lambda item: place.get(item.location[0], len(SLOW)))
    for item in items:
        if item.location[0] in place:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def working_folder(tmp_path_factory):
    """Tests work elsewhere: what lies in the folder they are started from, such as a store `runs`, changes nothing."""
    folder = tmp_path_factory.mktemp("working")
    with contextlib.chdir(folder):
        yield folder


@pytest.fixture(autouse=True)
def nothing_is_left(working_folder):
    """Each test finds the working folder empty."""
    yield
    for left in working_folder.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()


@pytest.fixture(autouse=True)
def explainers_as_before():
    """What a test registers is gone after it: the next one in this process may walk all names."""
    known = TEXT_EXPLAINERS._filled()
    before = dict(known)
    yield
    known.clear()
    known.update(before)


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory):
    """The synthetic study at a size that takes a few seconds."""
    return tn.run("roar-synthetic", store=tmp_path_factory.mktemp("tiny") / "store", workers=2, **TINY)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """One word decides."""
    return one_word(tmp_path_factory.mktemp("data") / "one-word")
