"""The JSON schema of `config.yaml`, generated from the typed settings for editors and readers.

`onelayer schema` writes it; with `--check` it only says whether it drifted.
"""

import ast
import inspect
import itertools
import json
import textwrap

from pydantic.json_schema import GenerateJsonSchema

from onelayer.errors import OnelayerError
from onelayer.run.provenance import REPOSITORY
from onelayer.settings.block import Block
from onelayer.settings.root import Settings

PATH = REPOSITORY / "workflow" / "schemas" / "config.schema.json"


class _WithTexts(GenerateJsonSchema):
    """Describes a block's fields by the texts that stand below them, there or in its base."""

    def model_schema(self, schema: dict) -> dict:
        described = super().model_schema(schema)
        for owner in (one for one in schema["cls"].__mro__ if issubclass(one, Block)):
            [body] = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
            for field, text in itertools.pairwise(body.body):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    entry = described["properties"].get(field.target.id, {})
                    entry.setdefault("description", inspect.cleandoc(text.value.value))
        return described


def schema_text() -> str:
    """The schema as it should stand in the repository."""
    schema = Settings.model_json_schema(schema_generator=_WithTexts)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main(check: bool = False) -> str | None:
    """Write the schema file.

    Raises:
        OnelayerError: it was only to be checked, and is out of date.
    """
    if check:
        if not PATH.exists() or PATH.read_text(encoding="utf-8") != schema_text():
            where = PATH.relative_to(REPOSITORY)
            raise OnelayerError(f"{where} is out of date: run `make schema`")
        return None
    PATH.parent.mkdir(parents=True, exist_ok=True)
    PATH.write_text(schema_text(), encoding="utf-8")
    return f"wrote {PATH.relative_to(REPOSITORY)}"
