"""The JSON schema of `config.yaml`, generated from the typed settings for editors and readers.

`python -m onelayer.settings.schema` writes it; with `--check` it only says whether it drifted.
"""

import argparse
import json
import sys

from onelayer.provenance import REPOSITORY
from onelayer.settings.root import Settings

PATH = REPOSITORY / "workflow" / "schemas" / "config.schema.json"


def schema_text() -> str:
    """The schema as it should stand in the repository."""
    schema = Settings.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    """Write or check the schema file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail on drift")
    if parser.parse_args().check:
        if not PATH.exists() or PATH.read_text(encoding="utf-8") != schema_text():
            sys.exit(f"{PATH.relative_to(REPOSITORY)} is out of date: run `make schema`")
        return
    PATH.parent.mkdir(parents=True, exist_ok=True)
    PATH.write_text(schema_text(), encoding="utf-8")
    print(f"wrote {PATH.relative_to(REPOSITORY)}")


if __name__ == "__main__":
    main()
