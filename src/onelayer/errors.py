"""The one exception that a user is meant to read: a single clear line, no traceback needed."""


class OnelayerError(Exception):
    """Something the user can put right: a setting, a file, a download, a model.

    One line: the key or file, the value found, what is allowed. What a file or a server put into it
    cannot end the line or steer a terminal: it is escaped.
    """

    def __init__(self, message: str) -> None:
        super().__init__("".join(c if c.isprintable() else ascii(c)[1:-1] for c in message))


class MissingFileError(OnelayerError):
    """A repository or folder does not hold a file."""
