"""A plug-in of pytest: `trueness_gate` fails a test where an audit does not meet a gate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from trueness.audits.verdict import Audit


@pytest.fixture(scope="session")
def trueness_gate(request: pytest.FixtureRequest) -> Callable[..., Audit]:
    """Audit a model, or take an audit, and fail the test unless a gate holds: `trueness_gate(model, data, gate=...)`.

    The first argument is a model, with the data as the second one; or an audit, or the path of an audit.json. `gate` is
    the path of a gate.toml, or TOML text such as `require_any = 1`; `baseline` is an earlier audit.json. Other settings
    are those of `tn.audit`. What was computed is kept in pytest's cache, so that the next run continues.
    """

    def check(
        subject: Any,
        data: Any = None,
        *,
        gate: str | Path = "gate.toml",
        baseline: str | Path | None = None,
        **settings: Any,
    ) -> Audit:
        from trueness.audits.gate import Gate, apply, read_gate
        from trueness.audits.saved import read_audit
        from trueness.errors import UserError

        try:
            wanted = Gate.parse(gate) if isinstance(gate, str) and "=" in gate else read_gate(gate)
            earlier = None if baseline is None else read_audit(baseline)
            if data is not None and "store" not in settings:
                settings["store"] = request.config.cache.mkdir("trueness") / "runs"
            found = _audit(subject, data, settings)
            outcome = apply(wanted, found, earlier)
        except UserError as error:
            pytest.fail(str(error), pytrace=False)
        if outcome.exit_status:
            pytest.fail(outcome.text, pytrace=False)
        return found

    return check


def _audit(subject: Any, data: Any, settings: dict[str, Any]) -> Audit:
    from trueness.api.audits import audit
    from trueness.audits.saved import read_audit
    from trueness.audits.verdict import Audit
    from trueness.errors import UserError

    if data is not None:
        return audit(subject, data, **settings)
    if settings:
        raise UserError(f"{next(iter(settings))} is a setting of an audit that is to be run: give a model and data.")
    return subject if isinstance(subject, Audit) else read_audit(subject)
