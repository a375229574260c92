"""What is said at the end of a run."""

from tests.engine.tasks import double, fails, total
from trueness.engine import EngineLostError, Failure, Summary, TasksFailedError
from trueness.errors import UserError


def test_a_failure_is_one_line():
    failure = Failure(fails(reason="x"), "ValueError: one\n\ttwo", "logs/a.log")
    assert str(failure) == "fails(reason='x') failed: ValueError: one two; traceback in logs/a.log"
    assert str(Failure(double(value=1), "no", "")) == "double(value=1) failed: no"
    assert Failure(double(value=1), "mine.py failed.", "a.log").told == "mine.py failed; traceback in a.log"


def test_a_summary_is_complete_without_failures_and_blocked_tasks():
    failure = Failure(double(value=1), "no", "")
    assert Summary().complete
    assert not Summary(failures=[failure]).complete
    assert not Summary(blocked=[double(value=1)]).complete
    assert Summary(damaged=["k"], total=3).complete


def test_tasks_that_failed_are_named_and_those_that_need_them_counted():
    failures = [Failure(double(value=number), "no", "") for number in (1, 2)]
    error = TasksFailedError(Summary(failures=failures))
    assert str(error) == "double(value=1) failed: no\ndouble(value=2) failed: no"
    assert error.args == (error.summary,)
    blocked = Summary(failures=failures[:1], blocked=[total({"parts": []}), double(value=3)])
    assert str(TasksFailedError(blocked)) == (
        "double(value=1) failed: no\n2 tasks that need what failed were not tried."
    )


def test_a_lost_engine_says_what_to_do():
    error = EngineLostError("It is gone", "start it")
    assert str(error) == "It is gone; start it and run the same command again: finished tasks are kept."
    assert isinstance(error, UserError)
