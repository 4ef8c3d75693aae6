"""The base of every settings block, and the field types that blocks share."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field


class Block(pydantic.BaseModel):
    """A group of settings: unknown keys are refused, values never change once read."""

    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    @pydantic.model_validator(mode="before")
    @classmethod
    def _name_unknown_keys(cls, values: Any) -> Any:
        # pydantic would refuse them too, but without saying what is known here.
        known = list(cls.model_fields)
        for key in values if isinstance(values, dict) else ():
            if key not in known:
                hint = nearest(key, known)
                raise ValueError(f"unknown key '{key}'{hint}; known here: {', '.join(known)}")
        return values


def nearest(word: str, names: Iterable[str]) -> str:
    """` (did you mean 'name'?)` for the most similar name, or nothing if none is similar."""
    close = difflib.get_close_matches(str(word), list(names), n=1, cutoff=0.5)
    return f" (did you mean '{close[0]}'?)" if close else ""


def describe(problem: Mapping, config: object) -> str:
    """One readable line for one of pydantic's problems: key path, what is allowed, what was found.

    Args:
        problem: an entry of `ValidationError.errors()`.
        config: what was validated.
    """
    path = _key_path(problem["loc"], config)
    if problem["type"] == "missing":
        path.append(str(problem["loc"][-1]))
    where = ".".join(path) or "(top level)"
    message = problem["msg"].removeprefix("Value error, ")
    of_a_block = isinstance(problem["input"], Mapping) or problem["type"] == "missing"
    found = "" if of_a_block else f", found {problem['input']!r}"
    return f"{where}: {message[0].lower()}{message[1:]}{found}"


def _key_path(location: tuple, config: object) -> list[str]:
    """The path as YAML shows it: without the tags that pydantic adds for a union."""
    path, here = [], config
    for part in location:
        if isinstance(here, list) or (isinstance(here, Mapping) and part in here):
            path.append(str(part))
            here = here[part]
    return path


def part_names(parts: int) -> list[str]:
    """Names of the parts of what is cut in parts, in order: `000-of-128`; none for one part."""
    digits = len(str(parts - 1))
    return [f"{part:0{digits}}-of-{parts}" for part in range(parts)] if parts > 1 else []


Share = Annotated[float, Field(gt=0, le=1)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Threads = Annotated[int, Field(ge=1, le=256)]
Device = Literal["auto", "cpu", "cuda"]
