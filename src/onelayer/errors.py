"""The one exception that a user is meant to read: a single clear line, no traceback needed."""


class OnelayerError(Exception):
    """Something the user can put right: a setting, a file, a download, a model.

    The message is one line that names the key or file, the value found, and what is allowed.
    Steps print it without a traceback and leave no output behind. What a file or a server put into
    the message cannot end the line or steer a terminal: such characters are written as escapes.
    """

    def __init__(self, message: str) -> None:
        super().__init__("".join(map(_printable, message)))


def _printable(character: str) -> str:
    if character.isprintable() or character == "\N{NO-BREAK SPACE}":
        return character
    return character.encode("unicode_escape").decode("ascii")


class MissingFileError(OnelayerError):
    """A repository or folder does not hold a file."""
