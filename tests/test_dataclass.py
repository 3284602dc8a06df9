"""The package's light `dataclass` behaves like the standard library's where it is used."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prereg import dataclass as light


def both(body, **options):
    """The same class from the standard decorator and from ours."""
    return (
        body(dataclasses.dataclass(**options), dataclasses.field),
        body(light.dataclass(**options), light.field),
    )


def simple(decorate, field):
    @decorate
    class Point:
        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list)
        hidden: int = field(default=0, repr=False, compare=False)

        def total(self):
            return self.x + self.y

    return Point


def derived(decorate, field):
    @decorate
    class Base:
        start: int
        kind: str = "base"

    @decorate
    class Derived(Base):
        more: tuple[int, ...] = ()
        size: int = field(init=False)

        def __post_init__(self):
            object.__setattr__(self, "size", len(self.more))

    return Derived


BODIES = st.sampled_from([simple, derived])
VALUES = st.integers(0, 2) | st.just(()) | st.sampled_from(["", "base"])


def outcome(action):
    """What an action gives, or that it is refused."""
    try:
        return action()
    except TypeError:
        return "refused"


@given(
    BODIES,
    st.booleans(),
    st.lists(VALUES, max_size=5),
    st.dictionaries(
        st.sampled_from(["x", "y", "tags", "hidden", "start", "kind", "more", "size"]), VALUES, max_size=3
    ),
    st.lists(VALUES, max_size=4),
)
def test_against_the_standard_library(body, frozen, values, named, others):
    told = []
    for made in both(body, frozen=frozen):
        one = outcome(lambda made=made: made(*values, **named))
        two = outcome(lambda made=made: made(*others))
        if "refused" in (one, two):
            told.append((one == "refused", two == "refused"))
            continue
        told.append(
            (
                repr(one),
                one == two,
                one == copy.copy(one),
                outcome(lambda one=one: {one: 1} and True),
                outcome(lambda one=one, two=two: hash(one) == hash(two)) if one == two else None,
                made.__match_args__,
            )
        )
    assert told[0] == told[1]


def test_names_defaults_and_replaced_values_against_the_standard_library():
    told = []
    for module, made in zip((dataclasses, light), both(simple, frozen=True), strict=True):
        one = made(1)
        changed = module.replace(one, y=5)
        told.append(
            (
                [f.name for f in module.fields(one)],
                module.asdict(module.replace(one, tags=[made(3)])),
                (one.y, changed.y, changed.x, changed.total(), one.tags is made(1).tags),
                (made.y, hasattr(made, "tags")),
            )
        )
        with pytest.raises(TypeError):
            module.replace(one, nothing=1)
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.y = 3
        with pytest.raises(dataclasses.FrozenInstanceError):
            del one.y
    assert told[0] == told[1]


def test_keywords_only_and_identity_against_the_standard_library():
    for made in both(simple, frozen=True, kw_only=True, eq=False):
        assert outcome(lambda made=made: made(1)) == "refused"
        one, two = made(x=1), made(x=1)
        assert one != two
        assert len({one, two, one}) == 2
        assert made.__match_args__ == ()


def test_fields_take_part_in_patterns():
    match simple(light.dataclass, light.field)(1, 7):
        case object(x=1, y=y):
            assert y == 7


@light.dataclass(frozen=True)
class Kept:
    """At the top of a module, so that it can be pickled."""

    name: str
    inside: Kept | None = None


def test_a_pickled_copy_is_equal():
    one = Kept("outer", Kept("inner"))
    assert pickle.loads(pickle.dumps(one)) == one
    assert repr(one) == "Kept(name='outer', inside=Kept(name='inner', inside=None))"
