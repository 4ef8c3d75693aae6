"""The one exception that a user is meant to read: a single clear line, no traceback needed."""


class OnelayerError(Exception):
    """Something the user can put right: a setting, a file, a download, a model.

    The message is one line that names the key or file, the value found, and what is allowed. What a
    file or a server put into it cannot end the line or steer a terminal: such characters are
    written as escapes.
    """

    def __init__(self, message: str) -> None:
        keep = "\N{NO-BREAK SPACE}"
        super().__init__(
            "".join(c if c.isprintable() or c == keep else _escaped(c) for c in message)
        )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


class MissingFileError(OnelayerError):
    """A repository or folder does not hold a file."""
