"""Any value at any key of the settings is taken, or refused in one line that says what is wrong."""

import contextlib
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from onelayer.errors import OnelayerError
from onelayer.settings.root import Settings, load_settings
from tests.faults.generated import GENERATED, Cases
from tests.workflow.conftest import merged_config

COMMIT, SUM = "a" * 40, "0" * 64
# What the default does not have, so that every block of the settings is somewhere.
MORE = {
    "models": {
        "hub": {
            "source": "hub",
            "hub": {"repository": "a/b", "revision": COMMIT, "sums": {"f": SUM}},
        },
        "disk": {"source": "local", "local": {"path": "folder"}},
        "way": {"source": "series", "folders": {9: "folder"}},
        "mixed": {
            "source": "pretrain",
            "family": "bert",
            "inputs": {"articles": 2},
            "hidden_as": {"mask": 0.5, "another": 0.2},
        },
        "hub-way": {"source": "series", "hub": {"repository": "a/b", "revisions": {9: COMMIT}}},
    },
    "corpora": {
        "disk": {
            "source": {"paths": ["a.csv"]},
            "parse": {"format": "csv", "columns": {"text": "t"}},
        },
        "hub": {"source": {"dataset": "a/b", "revision": COMMIT}, "parse": {"format": "parquet"}},
    },
}
MODELS = ("minilm", "random", "bert-here", *MORE["models"])  # one of each kind
SHELL = ["x; touch pwned", "$(touch pwned)", "`touch pwned`", "a' b", '"', "--log=x", "../x", "~x"]
MARKUP = ["<script>alert(1)</script>", "|", "%s", "\\input{/etc/passwd}", "{x}", "$x$", "a\n# b"]
UNICODE = ["\u202eabc", "\ud800", "\x1b[2J", "\0", "ö\u0301", "☃", "\x85", "\u2028"]
HUGE = [2**63, -(2**63) - 1, 10**400, 1e300, 10**30, "x" * 5000, [0] * 300]
Value = Any
Place = tuple[str | int, ...]


def mixed(*fixed: Value, generated: st.SearchStrategy | None = None) -> st.SearchStrategy[list]:
    """All fixed values in any order, with three generated ones between them."""
    some = st.lists(generated, min_size=3, max_size=3) if generated is not None else st.just([])
    return some.flatmap(lambda new: st.permutations([*fixed, *new]))


KINDS = {
    "a wrong type": mixed(True, "1x", [[]], {"x": 1}, {1: None}, {1}, b"x", generated=st.dates()),
    "not a number": mixed(math.nan, "nan", ".nan", [math.nan]),
    "infinity": mixed(math.inf, -math.inf, "inf", [-math.inf]),
    "negative": mixed(-1, -0.5, "-1", generated=st.integers(-(10**9), -1) | st.floats(-1e9, -1e-9)),
    "zero": mixed(0, 0.0, -0.0, "0", False),
    "huge": mixed(*HUGE, generated=st.integers(2**63, 2**80)),
    "empty": mixed(None, "", [], {}, " ", (), [None]),
    "unicode": mixed(*UNICODE, generated=st.text(st.characters(), min_size=1, max_size=20)),
    "for a shell": mixed(*SHELL, generated=st.text("$`;|&<>(){}'\"\\ \n*?~-", min_size=1)),
    "markup": mixed(*MARKUP),
}  # fmt: skip


def whole() -> dict:
    """A valid configuration that holds every key of every block, defaults too."""
    config = merged_config(None)
    config["models"] |= MORE["models"]
    config["topics"]["compared"] = [{"name": "other"}]
    config["corpora"] |= {name: own | {"credit": "me"} for name, own in MORE["corpora"].items()}
    return Settings.model_validate(config).model_dump(mode="json")


def first_of_a_kind(value: object) -> list[int]:
    """Which entries of a list differ in what they are: those whose `method` is a new one."""
    entries = value if isinstance(value, list | tuple) else []
    methods = [e["method"] if isinstance(e, dict) and "method" in e else "" for e in entries]
    return [methods.index(method) for method in dict.fromkeys(methods)]


def places(value: object, path: Place = ()) -> Iterator[Place]:
    """Every key below a value; of a list the first entry of each kind."""
    if path:
        yield path
    if isinstance(value, dict):
        inside = list(value.items())
    else:
        inside = [(number, value[number]) for number in first_of_a_kind(value)]
    for key, part in inside:
        yield from places(part, (*path, key))


def changed(config: dict | list, place: Place, value: Value) -> dict | list:
    """A copy with another value at one place, which shares the rest."""
    if not place:
        return value
    config = config.copy()
    config[place[0]] = changed(config[place[0]], place[1:], value)
    return config


def at(config: dict, place: Place) -> Value:
    for key in place:
        config = config[key]
    return config


def short(config: dict) -> dict:
    """The same with one model of each kind, and with lists as short as they may be."""
    config["models"] = {name: config["models"][name] for name in MODELS}
    for part in ("wikipedia", "robustness"):
        config["topic_structure"][part]["models"] = ["minilm"]
    config["topic_structure"]["wikipedia"]["topics_per_input"]["models"] = []
    config["topic_structure"]["wikipedia"]["reading"]["models"] = ["minilm"]
    config["topics"]["words"]["single_piece_in"] = ["minilm"]
    load_settings(config)
    # Innermost first: what is cut takes no place with it that comes later.
    lists = [place for place in places(config) if isinstance(at(config, place), list)]
    for place in reversed(lists):
        entries = at(config, place)
        for most in (1, 2):
            kept = {*range(len(entries))[:most], *first_of_a_kind(entries)}
            fewer = changed(config, place, [entries[number] for number in sorted(kept)])
            with contextlib.suppress(OnelayerError):
                load_settings(fewer)
                config = fewer
                break
    return config


@functools.cache
def valid() -> dict:
    """The configuration of which every test here changes one value."""
    return short(whole())


@functools.cache
def all_places() -> list[Place]:
    """Every key of it."""
    return list(places(valid()))


def blocks(annotation: object) -> Iterator[type[BaseModel]]:
    """Settings blocks in a type."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from blocks(field.annotation)
    elif get_origin(annotation) is not None:
        for part in get_args(annotation):
            yield from blocks(part)


def keys_of(value: object) -> Iterator[tuple[type, str]]:
    """Every key of the blocks in validated settings, with the block that it belongs to."""
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield type(value), name
            yield from keys_of(getattr(value, name))
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from keys_of(part)
    elif isinstance(value, list | tuple):
        for part in {type(part): part for part in value}.values():
            yield from keys_of(part)


def test_every_key_of_the_schema_is_tried() -> None:
    known = {(block, name) for block in blocks(Settings) for name in block.model_fields}
    tried = set(keys_of(Settings.model_validate(valid())))
    missing = sorted(f"{block.__name__}.{name}" for block, name in known - tried)
    assert not missing, f"add an example of {', '.join(missing)} to MORE"


def refusal(place: Place, value: Value) -> str | None:
    """The line in which a value is refused; None if it is taken. Any other exception fails."""
    try:
        load_settings(changed(valid(), place, value))
    except OnelayerError as error:
        return str(error)
    return None


def check(place: Place, value: Value) -> None:
    line = refusal(place, value)
    if line is None:
        return
    assert line.isprintable(), ascii(line)
    assert len(line) < 1200, line
    key, _, said = line.removeprefix("config: ").partition(": ")
    assert line.startswith("config: ") and said, line
    # The key itself, the block that does not fit any more, or whoever refers to it by name.
    changed_key = ".".join(map(str, place))
    of_it = key.startswith(changed_key) or changed_key.startswith(key)
    names = [str(part) for part in place if isinstance(part, str)]
    assert of_it or names[-1] in line or key == "(top level)" or "unknown name" in said, line


@pytest.mark.parametrize("kind", KINDS)
def test_any_value_is_taken_or_refused_in_one_clear_line(kind, request):
    cases = Cases(request.node)

    @settings(GENERATED, max_examples=1)
    @given(values=KINDS[kind])
    def tried(values: Sequence[Value]) -> None:
        for number, place in enumerate(all_places()):
            check(place, values[number % len(values)])
        cases.count(len(all_places()))

    tried()


def test_the_same_twice_is_taken_or_refused_in_one_clear_line(request):
    lists = [place for place in all_places() if isinstance(at(valid(), place), list)]
    for place in lists:
        check(place, 2 * at(valid(), place))
    Cases(request.node).count(len(lists))
