"""Files that are written whole or not at all."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file in the same folder, which takes the place of `path` at the end, or is removed after an error.

    Links are followed, and the permissions of a file that is replaced are kept. A pipe or a device cannot be replaced:
    what was written is copied into it. Temporary files of processes that were killed go with the next write.
    """
    # The pipe behind a name such as /dev/stdout has no name of its own.
    target = Path(path if os.path.exists(path) and not os.path.isfile(path) else os.path.realpath(path))
    is_special = target.exists() and not target.is_file()
    try:
        temporary = temporary_file(target, None if is_special else target.parent)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    try:
        yield temporary
        if is_special:
            with open(temporary, "rb") as source, open(target, "wb") as sink:
                shutil.copyfileobj(source, sink)
            temporary.unlink()
            return
        with open(temporary, "rb+") as stream:
            os.fsync(stream.fileno())
        os.chmod(temporary, _mode(target))  # mkstemp lets only the owner read
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def temporary_file(target: Path, folder: Path | None) -> Path:
    """A new file beside `target`, or in the folder for such files; its name says which process made it."""
    if folder is not None:
        _remove_leftovers(target)
    prefix = f"{_stem(target)}.{_machine()}-{os.getpid()}-"
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=prefix, suffix=".part")
    os.close(descriptor)
    return Path(name)


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files of `target` whose processes, on this machine, are gone."""
    pattern = re.compile(re.escape(f"{_stem(target)}.{_machine()}-") + r"(\d+)-\w+\.part")
    with suppress(OSError):  # a folder that cannot be listed
        for entry in os.scandir(target.parent):
            found = pattern.fullmatch(entry.name)
            if found is not None and not _is_running(int(found[1])):
                Path(entry.path).unlink(missing_ok=True)


def _stem(target: Path) -> str:
    """The name, or as much of a long one as leaves room for more: names of files have at most 255 bytes."""
    return target.name if len(os.fsencode(target.name)) <= 200 else target.name[:50]


def _machine() -> str:
    """A short mark of this machine: on a shared disk, numbers of processes mean nothing elsewhere."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:6]


def _is_running(process: int) -> bool:
    if os.name != "posix":  # elsewhere there is no harmless way to ask
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _mode(target: Path) -> int:
    """Permissions of a file that is there, else the usual ones."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
