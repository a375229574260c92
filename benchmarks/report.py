"""One line per measurement."""

failures: list[str] = []


def line(what: str, measured: float, unit: str, limit: float, *, at_least: bool) -> None:
    """Print a measurement beside its limit and remember a miss."""
    fine = measured >= limit if at_least else measured <= limit
    sign = "≥" if at_least else "≤"
    print(f"{'ok  ' if fine else 'MISS'}  {what:<74} {measured:>9.2f} {unit:<7} (limit {sign} {limit:g})", flush=True)
    if not fine:
        failures.append(what)
