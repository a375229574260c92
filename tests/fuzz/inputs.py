"""Hostile values, and strategies that put them where people put theirs."""

import copy
import json

from hypothesis import strategies as st

TEXT = [
    "", " ", "\x00", "\x1b[31mred", "\x9b2J", "\u202e", "\ud800", "²", "٧", "007", "-0", "--5", "+7", "1e999", "NaN",
    "9" * 5000, "a" * 300, "a" * 200_000, "../..", "/etc/passwd", "/dev/zero", "[[0.5,1.9]]", "[" * 3000, "{", "\r",
    "a\rb", "true", "null", "💥", "a,b", '"', "=1+1", "none", "hf:x", "http://x", "~", "$HOME", "%s", "\n", "inf",
    "inf,inf", "[0.1,nan]",
]  # fmt: skip
VALUES = [
    None, True, False, 0, -1, -5, 1, 2, 7, 2**31, 2**63, 2**64, 10**30, 1e308, -1.5, 0.5, float("inf"), float("nan"),
    [], {}, [[]], [None], {"": 0}, [0.5, 1.9], [[0, 1]], [[0.5, 1.9]], *TEXT,
]  # fmt: skip

texts = st.sampled_from(TEXT) | st.text(max_size=30)
values = st.recursive(
    st.sampled_from(VALUES) | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
_EDITS = st.tuples(
    st.sampled_from(["flip", "insert", "delete", "cut", "repeat"]),
    st.floats(0, 1, exclude_max=True),
    st.binary(min_size=1, max_size=8)
    | st.sampled_from([b"\xff\xfe", b"\x00" * 8, b"\xff" * 8, b"\r", b'"', b"\n", b"[[[["]),
)


@st.composite
def mangled(draw, content: bytes):
    """The same bytes with a few changed, put in, left out or repeated."""
    changed = bytearray(content)
    for kind, where, some in draw(st.lists(_EDITS, max_size=4)):
        place = int(where * len(changed))
        if kind == "flip":
            changed[place : place + len(some)] = some
        elif kind == "insert":
            changed[place:place] = some
        elif kind == "delete":
            del changed[place : place + len(some)]
        elif kind == "cut":
            del changed[place:]
        else:
            changed[place:place] = changed[place : place + 200]
    return bytes(changed)


@st.composite
def changed_json(draw, content: str):
    """A JSON text with some of its values or keys replaced."""
    tree = json.loads(content)
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(tree))
        holder, key = places[draw(st.integers(0, len(places) - 1))] if places else (None, None)
        if holder is None:
            return json.dumps(draw(values))
        action = draw(st.sampled_from(["replace", "replace", "delete", "rename"]))
        if action == "replace":
            holder[key] = copy.deepcopy(draw(values))  # what is drawn may be changed next, and is drawn again
        elif action == "delete" or not isinstance(holder, dict):
            del holder[key]
        else:
            holder[draw(st.text(max_size=8))] = holder.pop(key)
    return json.dumps(tree)


def _places(tree):
    """Where values stand, not below lists of many: those would be drawn all the time."""
    for key in list(tree) if isinstance(tree, dict) else range(min(len(tree), 3)) if isinstance(tree, list) else ():
        yield tree, key
        yield from _places(tree[key])
