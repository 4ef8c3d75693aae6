"""The base of every settings block, and the field types that blocks share."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

import pydantic
from pydantic import Field

Count = Annotated[int, Field(ge=1, lt=2**63)]
Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(gt=0, le=1)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Title = Annotated[str, Field(min_length=1, max_length=80)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=80)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Block(pydantic.BaseModel):
    """A group of settings: unknown keys are refused, values never change once read."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _name_unknown_keys(cls, values: object) -> object:
        # pydantic would refuse them too, but without saying what is known here.
        for key in values if isinstance(values, dict) else ():
            if key not in cls.model_fields:
                known = ", ".join(cls.model_fields)
                hint = nearest(key, cls.model_fields)
                raise ValueError(f"unknown key {shown(key)}{hint}; known here: {known}")
        return values


class Threaded(Block):
    """Of a step whose numbers depend on how many threads add them."""

    threads: int = Field(1, ge=1, le=256)  # of torch and BLAS


class Computing(Threaded):
    """Of a step that trains or runs models."""

    device: Literal["auto", "cpu", "cuda"] = "auto"  # `auto` takes a GPU if there is one


def each_once(*keys: str) -> pydantic.AfterValidator:
    """Of a list: no two entries are the same, or agree in all of these fields."""

    def check(entries: list) -> list:
        keyed = [tuple(getattr(entry, key, None) for key in keys) or (entry,) for entry in entries]
        for values in keyed:
            if keyed.count(values) > 1:
                named = " ".join(str(value) for value in values if value is not None)
                raise ValueError(f"{named} is given twice; each once")
        return entries

    return pydantic.AfterValidator(check)


def nearest(word: object, names: Iterable[str]) -> str:
    """` (did you mean 'name'?)` for the most similar name, or nothing if none is similar."""
    close = difflib.get_close_matches(str(word), list(names), n=1, cutoff=0.5)
    return f" (did you mean '{close[0]}'?)" if close else ""


def shown(value: object) -> str:
    """A value as an error shows it, cut where it is long."""
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:80]}... ({len(text)} characters)"


def describe(problem: Mapping, config: object) -> str:
    """One readable line of an entry of `ValidationError.errors()`: key, what is allowed, found."""
    path, here = [], config
    for part in problem["loc"]:
        # A union's location holds the tag of the chosen block, too: it is no key of the settings.
        known = isinstance(here, Mapping) and part in here
        if known or (isinstance(here, list) and isinstance(part, int) and part < len(here)):
            path.append(str(part))
            here = here[part]
    if problem["type"] == "missing":
        path.append(str(problem["loc"][-1]))
    message = problem["msg"].removeprefix("Value error, ")
    whole = isinstance(problem["input"], Mapping) or problem["type"] == "missing"
    found = "" if whole else f", found {shown(problem['input'])}"
    line = f"{'.'.join(path) or '(top level)'}: {message[0].lower()}{message[1:]}{found}"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
