"""Files in, files out: what is read is bounded and strict, what is written is whole or not there."""

from __future__ import annotations

import codecs
import contextlib
import importlib
import json
import os
import re
import stat
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from prereg.document import Document, Source, Steps, Tree
from prereg.errors import InputError, MissingError, Place, Problem
from prereg.numerals import exact_float, exact_integer, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

fcntl: Any
try:
    fcntl = importlib.import_module("fcntl")
except ImportError:  # Windows
    fcntl = None

__all__ = [
    "Document",
    "Steps",
    "Tree",
    "alone",
    "decode",
    "dump_json",
    "read_bytes",
    "read_json",
    "read_yaml",
    "sweep",
    "write_atomic",
]

_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{12}\.tmp")
MOST_YAML = 1_000_000
_YOUNG = 1.0  # seconds: between making a file and locking it lies less


def read_yaml(
    path: Path, name: str | None = None, max_bytes: int = MOST_YAML, max_depth: int = 50
) -> Document:
    """Read a YAML file. `name` is what errors call it; default: the path as given.

    Raises MissingError where there is no file, InputError with every problem found in it.
    """
    from prereg.yamltext import parse_yaml  # noqa: PLC0415 - 14 ms that reading JSON need not pay

    name = str(path) if name is None else name
    text = decode(read_bytes(path, name, max_bytes), name)
    return parse_yaml(Source(name, text.replace("\r\n", "\n").replace("\r", "\n")), max_depth=max_depth)


def read_json(
    source: Path | bytes, name: str | None = None, max_bytes: int = 100_000_000, max_depth: int = 50
) -> Tree:
    """Read JSON from a file, or from bytes, and refuse what two readers could take differently.

    Refused are duplicate keys, NaN and Infinity, lone surrogates, integers beyond 2^53 - 1 and numbers that a
    double does not write back. Raises MissingError where there is no file, else InputError.
    """
    if name is None:
        name = str(source) if isinstance(source, Path) else "JSON"
    data = read_bytes(source, name, max_bytes) if isinstance(source, Path) else source
    if len(data) > max_bytes:
        raise _too_large(name, len(data), max_bytes)
    text = decode(data, name)
    try:
        tree = cast("Tree", _JSON.decode(text))
        if "\\u" in text:  # the only way in for half of a surrogate pair
            json.dumps(tree, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        place = Place(name, error.lineno, error.colno)
        raise InputError(Problem(f"not valid JSON: {error.msg}", place)) from error
    except UnicodeEncodeError as error:
        raise InputError(Problem("a text holds half of a surrogate pair", Place(name))) from error
    except ValueError as error:
        raise InputError(Problem(str(error), Place(name))) from error
    except RecursionError as error:
        raise InputError(Problem(f"nested deeper than {max_depth} levels", Place(name))) from error
    if _deeper_than(max_depth, tree):
        raise InputError(Problem(f"nested deeper than {max_depth} levels", Place(name)))
    return tree


def write_atomic(path: Path, data: bytes, *, exclusive: bool = False) -> None:
    """Write a file so that a reader finds all of it or none, whenever the writer is killed.

    Folders are made as needed. With `exclusive` an existing file is never replaced: raises FileExistsError,
    and of several writers at once exactly one succeeds. Raises InputError where nothing can be written.
    """
    try:
        _make_folder(path.parent)
        temporary = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
        try:
            # Not `tempfile`: its files are private to their owner, and these are meant to be committed.
            with temporary.open("xb") as file:
                _claim(file.fileno())
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                if fcntl is not None:  # the lock on the file ends with it, so it is given its name before
                    _give_name(temporary, path, exclusive=exclusive)
            if fcntl is None:
                _give_name(temporary, path, exclusive=exclusive)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)
        sweep(path.parent)
    except FileExistsError:
        raise  # only the exclusive rename says this
    except (OSError, ValueError) as error:
        raise InputError(Problem(f"cannot be written: {_why(error)}", Place(str(path)))) from error


@contextlib.contextmanager
def alone(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold a file, so that whoever asks for it in another process or thread waits until this one is done.

    It is a lock of the operating system on the file itself: nothing is written, and it ends with its process,
    however that ends. `waiting` is called once before a wait. Where there are no such locks nobody waits.
    """
    try:
        file = path.open("rb")
    except OSError:  # gone, or not ours to read: whoever needs it says so
        yield
        return
    with file:
        if fcntl is not None and not _claim(file.fileno()):
            waiting()
            with contextlib.suppress(OSError):  # some network file systems lock no file that is only read
                fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        yield


def sweep(folder: Path) -> None:
    """Remove the unfinished files that killed writers have left in a folder; those of living writers stay.

    A writer holds a lock of the operating system on its unfinished file, which ends with the writer. Where
    there are no such locks, and for files that are too new to be sure, nothing is removed.
    """
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if _UNFINISHED.fullmatch(entry.name)]
    except OSError:  # no such folder, or not ours: nothing to tidy
        return
    for name in names:
        path = folder / name
        try:
            if not stat.S_ISREG(path.lstat().st_mode) or time.time() - path.lstat().st_mtime < _YOUNG:
                continue
            with path.open("rb") as file:
                if _claim(file.fileno()):
                    path.unlink(missing_ok=True)
        except OSError:
            continue


def dump_json(tree: object) -> bytes:
    """Return a tree of plain JSON values as indented UTF-8 text that ends in a newline; key order is kept.

    Raises ValueError for NaN and infinities, which JSON cannot say.
    """
    return (json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _claim(descriptor: int) -> bool:
    """Lock an open file for as long as it is open; False where another has, or where locks are unknown."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:  # not the exclusive file: something else has the name of the folder
        raise NotADirectoryError(f"{folder.name} is no folder") from error


def _give_name(temporary: Path, path: Path, *, exclusive: bool) -> None:
    if exclusive:
        _rename_to_new(temporary, path)
    else:
        temporary.replace(path)


def _rename_to_new(temporary: Path, path: Path) -> None:
    """Give a finished file its name unless the name is taken."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:
        # No hard links here: reserve the name, then put the file in its place. Others still cannot take it.
        path.open("xb").close()
        try:
            temporary.replace(path)
        except BaseException:
            path.unlink()
            raise


def _sync_folder(folder: Path) -> None:
    """Make a new name survive a power cut, on systems where folders can be opened."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:  # some network file systems: nothing more can be asked of them
        pass
    finally:
        os.close(descriptor)


def read_bytes(path: Path, name: str, max_bytes: int) -> bytes:
    """Read a regular file whole; `name` is what errors call it.

    Raises MissingError where there is none, InputError for folders, pipes, devices and too large files.
    """
    place = Place(name)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            what = "is a folder" if stat.S_ISDIR(status.st_mode) else "is not a regular file"
            raise InputError(Problem(f"{what}, a file is expected", place))
        if status.st_size > max_bytes:
            raise _too_large(name, status.st_size, max_bytes)
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except FileNotFoundError as error:
        raise MissingError(Problem("no such file", place)) from error
    except (OSError, ValueError) as error:  # the latter: a NUL in the path
        raise InputError(Problem(f"cannot be read: {_why(error)}", place)) from error
    if len(data) > max_bytes:
        raise _too_large(name, len(data), max_bytes)
    return data


def _too_large(name: str, size: int, most: int) -> InputError:
    return InputError(Problem(f"{size} bytes are too many: at most {most} are read", Place(name)))


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def decode(data: bytes, name: str) -> str:
    """Return the text of UTF-8 bytes, a BOM taken off. Raises InputError at the first byte that is none."""
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line_start = max(data.rfind(b"\n", 0, error.start), data.rfind(b"\r", 0, error.start)) + 1
        before = data[: error.start].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        place = Place(name, before.count(b"\n") + 1, len(data[line_start : error.start].decode()) + 1)
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        guess = "; it looks like UTF-16, save it as UTF-8" if wide else ""
        message = f"not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}{guess}"
        raise InputError(Problem(message, place)) from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    if len(tree) < len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise ValueError(f"duplicate key {shown(twice)}")
    return tree


def _refuse_constant(text: str) -> float:
    raise ValueError(f"`{text}` is no number in JSON")


_JSON = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_constant=_refuse_constant,
    parse_float=exact_float,
    parse_int=exact_integer,
)


def _deeper_than(most: int, tree: Tree) -> bool:
    """Tell whether collections nest more than `most` deep, level by level so that depth costs no stack."""
    level: list[Any] = [tree] if isinstance(tree, dict | list) else []
    for _ in range(most):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
    return bool(level)
