"""The base of every settings block, and the field types that blocks share."""

import difflib
from collections.abc import Iterable
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


Share = Annotated[float, Field(gt=0, le=1)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Threads = Annotated[int, Field(ge=1, le=256)]
Device = Literal["auto", "cpu", "cuda"]
