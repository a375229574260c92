from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.engine.tasks import double, total
from trueness.engine import TaskType
from trueness.engine.encoding import canonical, digest


def test_different_meaning_gives_different_digests():
    values = [0, 1, True, False, None, "1", "", [], [1], {}, {"a": 1}, 1.5, [[1], 2], [1, [2]], "true"]
    assert len({digest(value) for value in values}) == len(values)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_survive(value):
    assert float(canonical(value)) == value


def test_keys_depend_on_name_version_parameters_and_inputs():
    base = total({"parts": [double(value=1)]})
    changed = TaskType("double", 2, double.function)
    others = [
        total({"parts": [double(value=2)]}),
        total({"parts": [changed(value=1)]}),  # a new version upstream changes keys downstream
        total({"parts": [double(value=1), double(value=1)]}),
        total({"parts": [double(value=1)]}, log="x"),
        double(value=1),
    ]
    assert len({task.key for task in [base, *others]}) == 6
    assert total({"parts": (double(value=1.0),)}).key == base.key
    assert total({"parts": double(value=1)}).key != base.key  # one object is not a list of one
    assert Path(base.key).name == base.key
