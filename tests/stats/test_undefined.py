import numpy as np
import pandas as pd
import pytest

from trueness.stats import Measured, Reason, Undefined


def test_undefined_is_not_a_number():
    nothing = Undefined(Reason.CONSTANT)
    assert str(nothing) == "undefined, because an input is constant"
    with pytest.raises(TypeError, match="constant"):
        float(nothing)
    with pytest.raises(TypeError, match="isinstance"):
        bool(nothing)


def test_the_first_reason_wins_and_values_are_masked():
    measured = Measured([np.nan, 2.0], {Reason.EMPTY: [True, False], Reason.CONSTANT: [True, False]})
    assert measured[0] == Undefined(Reason.EMPTY)
    assert list(measured) == [Undefined(Reason.EMPTY), 2.0]
    assert measured.values.mask.tolist() == [True, False]
    assert measured.values.mean() == 2.0
    assert measured.compressed().tolist() == [2.0]
    assert measured.reasons() == {Reason.EMPTY: 1}
    assert "1 undefined, because there are no values" in repr(measured)


def test_a_value_that_is_not_finite_cannot_pass_as_defined():
    with pytest.raises(ArithmeticError):
        Measured([np.nan], {})


def test_pandas_keeps_the_reason():
    frame = Measured([0.0, 0.25], {Reason.SINGLE: [True, False]}).to_pandas("tau")
    assert frame["tau"][0] is pd.NA
    assert frame["tau"][1] == 0.25
    assert frame["tau_undefined"].tolist() == ["there is only one value", pd.NA]
