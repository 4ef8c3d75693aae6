"""The zip of a run: written to the same bytes each time, and read though a stranger wrote it.

Every file of an archive stands in its `SHA256SUMS`, as `sha256sum --check` reads it, and the
archive's comment is the sum of all bytes before it: bits that no file needs count as well. An
archive is unpacked into a new folder alone, to no more than it may grow to, and not at all where
one name in it is refused.
"""

import contextlib
import hashlib
import io
import shutil
import stat
import struct
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from onelayer.errors import OnelayerError
from onelayer.fetching.unpacking import check_growth
from onelayer.run.provenance import file_sha256
from onelayer.run.step import atomic_outputs

SUMS = "SHA256SUMS"
MOST_FILES, LARGEST_DIRECTORY = 50_000, 8 << 20  # entries; bytes of the table of contents
LARGEST = 1 << 24  # bytes of a file that is read whole: sums, metadata, a table
_END = struct.Struct("<4s4H2LH")
_SEAL = 64  # bytes of a SHA-256 in hexadecimal: the last of an archive
_PIECE = 1 << 20
# Dates of files tell when they were copied; a zip knows none before this one.
_DATE = (1980, 1, 1, 0, 0, 0)
# What the standard library raises where a zip is damaged.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


def write_archive(place: Path, files: Mapping[str, Path | bytes], sums: Mapping[str, str]) -> None:
    """Write a zip, whole or not at all.

    Args:
        place: where to.
        files: a file or its content, by place in the archive.
        known: SHA-256 of files as their steps made them, by place in the archive.

    Raises:
        OnelayerError: a file is not that any more, or the archive would be larger than 4 GiB.
    """
    written = {}
    with atomic_outputs([place]) as [part]:
        try:
            with zipfile.ZipFile(part, "w", allowZip64=False) as archive:
                for name in sorted(files):
                    written[name] = _write(archive, name, files[name])
                    if sums.get(name, written[name]) != written[name]:
                        raise OnelayerError(f"{files[name]}: changed while it was packed")
                _write(archive, SUMS, _listed(written))
                archive.comment = bytes(_SEAL)
            seal(part)
        except zipfile.LargeZipFile:
            raise OnelayerError(
                f"{place}: more than 4 GiB; without --with-data it is a small part of that"
            ) from None


def seal(place: Path) -> None:
    """Write the sum of all bytes before it into an archive's comment, which has 64 bytes."""
    with place.open("r+b") as file:
        file.write(_sum_before_seal(file))


def _sum_before_seal(file: BinaryIO) -> bytes:
    """SHA-256 of all bytes of an open archive but the last 64, before which it then stands."""
    digest, remaining = hashlib.sha256(), max(0, file.seek(0, 2) - _SEAL)
    file.seek(0)
    while piece := file.read(min(remaining, _PIECE)):
        digest.update(piece)
        remaining -= len(piece)
    return digest.hexdigest().encode()


def _write(archive: zipfile.ZipFile, name: str, content: Path | bytes) -> str:
    digest = hashlib.sha256()
    with (
        io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as source,
        archive.open(_entry(name), "w") as target,
    ):
        for piece in iter(lambda: source.read(_PIECE), b""):
            digest.update(piece)
            target.write(piece)
    return digest.hexdigest()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    return entry


def _listed(sums: Mapping[str, str]) -> bytes:
    return "".join(f"{sha256}  {name}\n" for name, sha256 in sums.items()).encode()


@contextlib.contextmanager
def unpacked(place: Path) -> Iterator[Path]:
    """The folder of an archive's files, for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="onelayer-") as folder:
        unpack_archive(place, Path(folder) / "run")
        yield Path(folder) / "run"


def unpack_archive(place: Path, folder: Path) -> None:
    """Unpack a stranger's archive into a new folder.

    Raises:
        OnelayerError: it is damaged, larger than it may be, or has a name or a kind of file that no
            archive of `onelayer pack` has. Nothing of it is left.
    """
    try:
        with place.open("rb") as file:
            _check_end(place, file)
            with zipfile.ZipFile(file) as archive:
                entries = archive.infolist()
                _check_entries(place, entries)
                _check_headers(place, file, entries)
                folder.mkdir(parents=True)
                for entry in entries:
                    target = folder / entry.filename
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(entry) as source, target.open("xb") as copy:
                        shutil.copyfileobj(source, copy, _PIECE)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, _DAMAGED):
            raise OnelayerError(f"{place}: not a whole zip ({error})") from None
        if isinstance(error, OSError):
            raise OnelayerError(f"{place}: {error.strerror or error}") from None
        raise


def _check_end(place: Path, file: BinaryIO) -> None:
    """Refuse changed bytes, and a table of contents too large for memory, before any is read."""
    file.seek(max(0, file.seek(0, 2) - _END.size - _SEAL - 20))
    before, end = (tail := file.read())[: -_END.size - _SEAL], tail[-_END.size - _SEAL : -_SEAL]
    if len(end) < _END.size:
        raise OnelayerError(f"{place}: not a zip")
    mark, *_, directory, _, comment = _END.unpack(end)
    if mark != b"PK\5\6" or comment != _SEAL or before.startswith(b"PK\6\7"):
        raise OnelayerError(f"{place}: not a zip as `onelayer pack` writes it")
    if directory > LARGEST_DIRECTORY:
        why = f"{directory} bytes of names; at most {LARGEST_DIRECTORY} are read"
        raise OnelayerError(f"{place}: {why}")
    if _sum_before_seal(file) != file.read():
        raise OnelayerError(f"{place}: not a whole zip: its last {_SEAL} bytes are another sum")


def _check_headers(place: Path, file: BinaryIO, entries: list[zipfile.ZipInfo]) -> None:
    """Refuse what another program may unpack to something else.

    One file begins where the one before it ends, and before it, in the table of contents and at the
    end stand the bytes that `write_archive` puts there.
    """
    end, contents = 0, bytearray()
    for entry in entries:
        plain = _entry(entry.filename)
        for field in ("CRC", "compress_size", "file_size"):
            setattr(plain, field, getattr(entry, field))
        header = plain.FileHeader(zip64=False)
        file.seek(end)
        if file.read(len(header)) != header:
            raise OnelayerError(f"{place}: {entry.filename!r} has not the header of a packed file")
        made_by = bytes([plain.create_version, plain.create_system])
        contents += b"PK\1\2" + made_by + header[4:30] + bytes(6)
        contents += struct.pack("<2L", plain.external_attr, end) + header[30:]
        end += len(header) + entry.compress_size
    count = len(entries)
    contents += _END.pack(b"PK\5\6", 0, 0, count, count, len(contents), end, _SEAL)
    file.seek(end)
    if file.read()[:-_SEAL] != contents:
        raise OnelayerError(f"{place}: not a whole zip: its table of contents is another one")


def _check_entries(place: Path, entries: list[zipfile.ZipInfo]) -> None:
    if len(entries) > MOST_FILES:
        raise OnelayerError(f"{place}: {len(entries)} files; at most {MOST_FILES} are taken")
    check_growth(place, place.stat().st_size, sum(entry.file_size for entry in entries))
    taken: dict[str, str] = {}  # names of files and, with a slash, of folders
    for entry in entries:
        name = entry.filename
        if why := _refused(entry):
            raise OnelayerError(f"{place}: {name!r} {why}")
        for folder in (f"{path}/" for path in list(PurePosixPath(name).parents)[:-1]):
            if taken.setdefault(_alike(folder), folder) != folder:
                why = "differs from another folder in case alone"
                raise OnelayerError(f"{place}: {folder!r} {why}")
        if taken.setdefault(_alike(name), entry) is not entry:
            why = "is there twice, or differs from another in case alone"
            raise OnelayerError(f"{place}: {name!r} {why}")
    if both := [name for name in taken if f"{name}/" in taken]:
        raise OnelayerError(f"{place}: {min(both)!r} is a file and a folder")


def _alike(name: str) -> str:
    """A name as file systems that know neither case nor forms of Unicode compare it."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", name).casefold())


def _refused(entry: zipfile.ZipInfo) -> str | None:
    """Why an entry is none of `onelayer pack`; None if it may be."""
    name, parts = entry.filename, entry.filename.split("/")
    if name != entry.orig_filename or not name.isprintable() or len(name.encode()) > 1000:
        return "is no name of a file"
    if "\\" in name or ":" in parts[0] or not {"", ".", ".."}.isdisjoint(parts):
        return "leads out of its folder"
    if any(len(part.encode()) > 255 for part in parts) or len(parts) > 41:
        return "is no name of a file"
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
        return "is a link, a device or a folder; an archive has files alone"
    return None


def check_sums(folder: Path) -> dict[str, str]:
    """Compare every file of an unpacked archive with `SHA256SUMS`.

    Returns:
        SHA-256 of every other file, by place.

    Raises:
        OnelayerError: one differs, is missing, or stands in no line.
    """
    place = folder / SUMS
    if not place.is_file() or place.stat().st_size > LARGEST:
        raise OnelayerError(f"{SUMS}: none as `onelayer pack` writes it; not a run")
    listed = place.read_bytes()
    lines = listed.decode(errors="replace").split("\n")[:-1]
    sums = {name: sha256 for sha256, _, name in (line.partition("  ") for line in lines)}
    files = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    if other := sorted((files.keys() - {SUMS}) ^ sums.keys()):
        missing = "is missing" if other[0] in sums else f"stands in no line of {SUMS}"
        raise OnelayerError(f"{other[0]}: {missing}; {len(other)} such in all")
    for name, sha256 in sums.items():
        if (now := file_sha256(files[name])) != sha256:
            raise OnelayerError(f"{name}: {SUMS} has sha256 {sha256}, found {now}")
    if listed != _listed(sums):
        raise OnelayerError(f"{SUMS}: not as `onelayer pack` writes it")
    return sums
