"""The one exception that a user is meant to read: a single clear line, no traceback needed."""


class OnelayerError(Exception):
    """Something the user can put right: a setting, a file, a download, a model.

    The message is one line that names the key or file, the value found, and what is allowed.
    Steps print it without a traceback and leave no output behind.
    """


class MissingFileError(OnelayerError):
    """A repository or folder does not hold a file."""
