"""A store of one's own, and two workers that a file of tests shares."""

import pytest

from trueness.engine import LocalExecutor, Store


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "store", create=True)


@pytest.fixture(scope="module")
def local():
    with LocalExecutor(["cpu", "cpu"]) as executor:
        yield executor
