"""The package's folder in the user's cache, and checks on whether the files in it can be trusted.

The contents of the files in this folder end up in the user's database. Therefore, the folder and
its files must belong to the user, and no other user may be able to write to them. Each file name
contains a digest that shows whether the file still has its original content. No check can protect
against a program that can write files as the user.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import time
from contextlib import suppress
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BufferedReader

_PACKAGE_FOLDER = "polars_clustereval"
_FOLDER_MODE, _FILE_MODE = 0o700, 0o600

# Writing takes less than a second. A draft older than this was left behind by a process that was
# killed.
_DRAFT = "tmp"
_DRAFT_SECONDS = 3600.0

# Opening a FIFO would wait for a writer, and a link may lead to a file of another user.
# Windows has neither, and would convert line ends without O_BINARY.
_OPEN_FLAGS = os.O_RDONLY
for _name in ("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY"):
    _OPEN_FLAGS |= getattr(os, _name, 0)


def open_folder() -> Path:
    """Return the package's cache folder, to which only the user has access, or raise OSError."""
    folder = _find_cache() / _PACKAGE_FOLDER
    folder.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
    if sys.platform != "win32":
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise OSError(f"{folder}: expected a folder of the user")
        # Files that other users have written before are not trusted, because these users own them.
        if found.st_mode & 0o077:
            folder.chmod(_FOLDER_MODE)
            if folder.lstat().st_mode & 0o077:
                raise OSError(f"{folder}: users other than the owner can open it")
    _delete_old_drafts(folder)
    return folder


def _find_cache() -> Path:
    """Return the folder in which the operating system keeps the user's caches."""
    if sys.platform == "win32":
        cache = _absolute("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        cache = _find_home() / "Library" / "Caches"
    else:
        cache = _absolute("XDG_CACHE_HOME") or _find_home() / ".cache"
    if not cache.is_absolute():
        raise OSError(f"{cache}: expected an absolute path")
    return cache


def _absolute(variable: str) -> Path | None:
    """Return a path from the environment if it is absolute: others depend on the working folder."""
    path = Path(os.environ.get(variable, ""))
    return path if path.is_absolute() else None


def _find_home() -> Path:
    """Return the user's home folder, from HOME if that is absolute, else from the system.

    Raises an OSError if there is none. On Windows, HOME is not read.
    """
    if sys.platform == "win32":
        return Path.home()
    import pwd  # Windows has none

    if home := _absolute("HOME"):
        return home
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError as error:
        raise OSError("the user has no home folder") from error


def _delete_old_drafts(folder: Path) -> None:
    """Delete drafts that were left in `folder` by processes that have been killed."""
    oldest = time.time() - _DRAFT_SECONDS
    for draft in folder.glob(f"{_DRAFT}*"):
        with suppress(FileNotFoundError):  # its process has just finished
            if draft.lstat().st_mtime < oldest:
                shutil.rmtree(draft, ignore_errors=True)


def find_trusted(folder: Path, key: str) -> Path | None:
    """Return the trusted file that `write_trusted` wrote for `key`, if any; delete all others."""
    # The order is from last to first, because DuckDB would apply NAME.wal to NAME.
    for path in sorted(folder.glob(f"{key}-*"), reverse=True):
        if _is_trusted(path, key):
            return path
        path.unlink(missing_ok=True)
    return None


def _is_trusted(path: Path, key: str) -> bool:
    """Return whether the file at `path` is private and its content matches its name."""
    try:
        file = os.fdopen(os.open(path, _OPEN_FLAGS), "rb")
    except OSError:
        return False
    with file:
        return _is_private(os.fstat(file.fileno())) and path.name == _file_name(key, file)


def _is_private(found: os.stat_result) -> bool:
    """Return whether `found` describes a regular file that only the user can open."""
    if not stat.S_ISREG(found.st_mode):
        return False
    if sys.platform == "win32":
        return True
    return found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == _FILE_MODE


def _file_name(key: str, file: BufferedReader) -> str:
    """Return the file name that consists of `key` and a digest of the content of `file`."""
    digest = file_digest(file, lambda: sha256(key.encode()))
    return f"{key}-{digest.hexdigest()[:32]}.duckdb"


def write_trusted(folder: Path, key: str, write: Callable[[Path], None]) -> Path:
    """Create a file in `folder` for `key`, call `write` to fill it, and return its path."""
    draft = folder / f"{_DRAFT}{os.urandom(8).hex()}"
    draft.mkdir(_FOLDER_MODE)
    try:
        path = draft / "content"
        write(path)
        path.chmod(_FILE_MODE)
        with path.open("rb") as file:
            name = _file_name(key, file)
        return _move(path, folder / name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _move(draft: Path, path: Path) -> Path:
    """Move a draft to `path`, whose name has the digest of its content, and return `path`."""
    try:
        return draft.replace(path)
    except PermissionError:
        # Windows does not replace a file that a process has open, which has the same content.
        if not path.exists():
            raise
        return path
