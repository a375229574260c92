import pytest
from hypothesis import settings

import trueness as tn

settings.register_profile("here", deadline=None, derandomize=True)
settings.load_profile("here")

TINY = {"seeds": 5, "data": {"train": 600, "test": 4000}}


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory):
    """The synthetic study at a size that takes a few seconds."""
    return tn.run("roar-synthetic", store=tmp_path_factory.mktemp("tiny") / "store", workers=2, **TINY)
