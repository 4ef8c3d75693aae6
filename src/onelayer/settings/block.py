"""The base of every settings block, and the field types that blocks share."""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, Self

import pydantic
from pydantic import Field

MOST = 2**63 - 1  # what libraries count with
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_TAGS = ("source", "method")  # keys whose values say which of several blocks one is
_SHOWN = 80  # characters of a value in an error


class Block(pydantic.BaseModel):
    """A group of settings: unknown keys are refused, values never change once read."""

    # What stands below a field is read where the schema is made: with `use_attribute_docstrings`
    # every step and every dry-run would parse it. Built when first used: a step takes one block of
    # all of them, and inside another a block is built with that.
    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True
    )

    @pydantic.model_validator(mode="before")
    @classmethod
    def _name_unknown_keys(cls, values: object) -> object:
        # pydantic would refuse them too, but without saying what is known here.
        fields = cls.model_fields
        for key in values if isinstance(values, dict) else ():
            if key not in fields:
                hint = nearest(key, fields)
                raise ValueError(f"unknown key {shown(key)}{hint}; known here: {', '.join(fields)}")
        return values

    @classmethod
    def of_fields(cls, other: "Block", **changed: object) -> Self:
        """What another block has of these fields, but for those that are given."""
        return cls(**{n: getattr(other, n) for n in cls.model_fields.keys() - changed} | changed)

    def but(self, **changed: object) -> Self:
        """The same with other values, which are checked."""
        return self.of_fields(self, **changed)


class Credited(Block):
    """Somebody's work: whose it is, and what may be done with it; empty where it is not known."""

    authors: list[Annotated[str, Field(min_length=1)]] = []
    """`Family, Given` of a person; a name without a comma is a group's. For `onelayer cite`."""
    licences: list[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+-]*$")]] = []
    """By their identifiers of SPDX: `CC-BY-SA-4.0`."""


def check_plain(value: object, path: tuple = ()) -> None:
    """Refuse settings with numbers that no computation here takes, or text that no file can hold.

    Raises:
        ValueError: names the key, the last of those on the `path` to it.
    """
    if isinstance(value, str):
        if not value.isprintable() and (odd := _ODD.search(value)):
            raise ValueError(
                f"{'.'.join(path)}: text has no control characters but tabs and ends of lines, and "
                f"no half characters; found {odd[0]!a} at place {odd.start()}"
            )
    elif isinstance(value, int):
        if abs(value) > MOST:
            raise ValueError(
                f"{'.'.join(path)}: whole numbers are at most {MOST}, found {shown(value)}"
            )
    elif isinstance(value, dict | list | tuple):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in inside:
            if not isinstance(key, int):
                check_plain(key, path)
            check_plain(part, (*path, str(key)))


def each_once(*keys: str) -> pydantic.AfterValidator:
    """Of a list: no two entries are the same, or agree in all of these fields."""

    def check(entries: list) -> list:
        keyed = [tuple(getattr(entry, key, None) for key in keys) or (entry,) for entry in entries]
        for values in keyed:
            if keyed.count(values) > 1:
                named = zip(keys, values, strict=True) if len(keys) > 1 else [("", values[0])]
                same = ", ".join(
                    f"{key} {value}".strip() for key, value in named if value is not None
                )
                raise ValueError(f"{same} is given twice; each once")
        return entries

    return pydantic.AfterValidator(check)


def nearest(word: str, names: Iterable[str]) -> str:
    """` (did you mean 'name'?)` for the most similar name, or nothing if none is similar."""
    close = difflib.get_close_matches(str(word), list(names), n=1, cutoff=0.5)
    return f" (did you mean '{close[0]}'?)" if close else ""


def shown(value: object) -> str:
    """A value as an error shows it, cut where it is long."""
    try:
        text = repr(value)
    except ValueError:  # a number of more digits than Python writes
        text = f"a number of {value.bit_length()} bits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"


def describe(problem: Mapping, config: object) -> str:
    """One readable line: key path, what is allowed, what was found.

    `problem` is an entry of pydantic's `ValidationError.errors()`, `config` what was validated.
    """
    path = _key_path(problem["loc"], config)
    if problem["type"] == "missing":
        path.append(str(problem["loc"][-1]))
    where = ".".join(path) or "(top level)"
    message = problem["msg"].removeprefix("Value error, ")
    if "tag" in problem.get("ctx", {}):
        message = message.replace(f"'{problem['ctx']['tag']}'", shown(problem["ctx"]["tag"]))
    of_a_block = isinstance(problem["input"], Mapping) or problem["type"] == "missing"
    given = "" if of_a_block else f", found {shown(problem['input'])}"
    return f"{where}: {message[0].lower()}{message[1:]}{given}"


def _key_path(location: tuple, config: object) -> list[str]:
    """The path as YAML shows it: without the tags that pydantic adds for a union."""
    path, here, tagged = [], config, None
    for part in location:
        if isinstance(here, Mapping) and here is not tagged and part in map(here.get, _TAGS):
            tagged = here  # a key may have the tag's name, too
            continue
        if isinstance(here, Mapping) and part in here:
            here = here[part]
        elif isinstance(here, list | tuple) and isinstance(part, int):
            here = here[part] if part < len(here) else None
        else:
            continue
        path.append(str(part))
    return path


def part_names(parts: int) -> list[str]:
    """Names of the parts of what is cut in parts, in order: `000-of-128`; none for one part."""
    digits = len(str(parts - 1))
    return [f"{part:0{digits}}-of-{parts}" for part in range(parts)] if parts > 1 else []


Positive = Annotated[float, Field(gt=0)]
Title = Annotated[str, Field(min_length=1, max_length=80)]
Share = Annotated[float, Field(gt=0, le=1)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=80)]
Threads = Annotated[int, Field(ge=1, le=256)]
Device = Literal["auto", "cpu", "cuda"]


class Threaded(Block):
    """Of a step whose numbers depend on how many threads add them."""

    threads: Threads = 1
    """torch and BLAS threads; part of what decides the numbers."""


class Computing(Threaded):
    """Of a step that trains or runs models."""

    device: Device = "auto"
    """Where it computes; `auto` takes a GPU if there is one."""
