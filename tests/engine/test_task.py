"""Tasks and their graph: how they are shown, found again, walked and ordered."""

from dataclasses import replace

import pytest

from tests.engine import tasks
from tests.engine.tasks import double, echo, total
from trueness import plugins
from trueness.engine import Task, TaskType, task, walk
from trueness.engine.encoding import digest
from trueness.engine.task import find_task_type, in_order


def test_a_task_is_shown_with_its_parameters_cut_where_they_are_long():
    assert str(double(value=1, log="x")) == "double(log='x', value=1)"
    assert str(total({"parts": []})) == "total()"
    assert str(echo(value="x" * 38)) == f"echo(value='{'x' * 38}')"
    assert str(echo(value="x" * 39)) == f"echo(value='{'x' * 38}…)"


def test_a_task_type_is_made_of_a_function():
    @task("mine", version=4)
    def mine(inputs):
        """What it does.

        More of it.
        """

    assert (mine.name, mine.version, mine.description, mine.light) == ("mine", 4, "What it does.", False)
    light = task("light", version=1, light=True)(lambda inputs: {})
    assert (light.description, light.light) == ("", True)
    assert TaskType("a", 1, len) == TaskType("a", 1, abs)
    assert TaskType("a", 1, len).description == ""
    assert "function" not in repr(mine)


def test_binding_makes_parameters_plain_and_sorts_inputs():
    first, second = double(value=1), double(value=2)
    bound = total({"b": iter([first, second]), "a": first}, log=("x",))
    assert isinstance(bound, Task)
    assert bound.parameters == {"log": ["x"]}
    assert list(bound.inputs) == ["a", "b"]
    assert bound.inputs == {"a": first, "b": (first, second)}
    assert bound.input_keys == {"a": first.key, "b": [first.key, second.key]}
    assert list(bound.upstream()) == [first, first, second]
    assert bound.content == {"parameters": {"log": ["x"]}, "inputs": bound.input_keys}
    assert double(value=1).inputs == {}


def test_the_key_is_a_digest_of_all_that_makes_the_result():
    own = TaskType("own", 3, walk)(value=1)
    assert own.type.address == "trueness.engine.task:walk"
    assert own.key == digest({"task": "own", "version": 3, "parameters": {"value": 1}, "inputs": {}})
    outside = double(value=1)
    assert isinstance(outside.type.address, plugins.Reference)
    assert outside.key == digest(
        {"task": "double", "version": 1, "outside": outside.type.address, "parameters": {"value": 1}, "inputs": {}}
    )


def test_sources_are_those_of_the_task_of_its_parameters_and_of_what_it_reads():
    def source(name):
        return plugins.Source(name, f"/there/{name}", "", "0" * 40, "")

    one, two, three = (source(f"mine.py:{name}") for name in "abc")
    part = double(value=plugins.Reference("mine.py:a", (one,)))
    target = total(
        {"parts": [part]},
        log={"deep": [plugins.Reference("both", (two,)), {"er": plugins.Reference("mine.py:c", (three,))}]},
    )
    names = {"mine.py:a", "mine.py:b", "mine.py:c", "tests.engine.tasks:double", "tests.engine.tasks:total"}
    assert {item.name for item in target.sources} == names
    own = TaskType("own", 1, walk)
    assert own(value="text").sources == frozenset()


def test_a_task_type_is_found_by_its_address():
    assert find_task_type("tests.engine.tasks:double") is double
    assert find_task_type(double.address) is double
    with pytest.raises(TypeError) as told:
        find_task_type("tests.engine.tasks:_note")
    assert str(told.value) == "tests.engine.tasks:_note is not a task"
    with pytest.raises(AttributeError):
        find_task_type("tests.engine.tasks:nothing")
    assert tasks.double.address.sources[0].name == "tests.engine.tasks:double"


def test_a_plan_is_walked_in_the_order_of_its_targets_inputs_first():
    a, b, c = (double(value=number) for number in range(3))
    first, second = total({"parts": [a, b]}), total({"parts": [c, a]})
    assert [item.key for item in walk([first, second, first])] == [item.key for item in (b, a, first, c, second)]
    assert walk([]) == []
    again = double(value=0)
    assert [item is again for item in walk([again, a])] == [True], "of two with the same key the first"


def test_only_given_tasks_are_put_in_order():
    a, b = double(value=1), double(value=2)
    above = total({"parts": [a, b]})
    top = replace(total({"parts": [above]}), parameters={"log": "top"})
    order = in_order({item.key: item for item in (a, above, top)})
    assert order.get_ready() == (a.key,)
    order.done(a.key)
    assert order.get_ready() == (above.key,), "b is not among them"
    order.done(above.key)
    assert order.get_ready() == (top.key,)
    assert order.is_active()
