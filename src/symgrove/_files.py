"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file in the same folder, which takes the place of `path` at the end, or is removed after an error.

    Links are followed, and the permissions of a file that is replaced are kept. A pipe or a device cannot be replaced:
    what was written is copied into it.
    """
    # The pipe behind a name such as /dev/stdout has no name of its own.
    target = Path(path if os.path.exists(path) and not os.path.isfile(path) else os.path.realpath(path))
    is_special = target.exists() and not target.is_file()
    folder = None if is_special else target.parent
    try:
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=target.name + ".", suffix=".part")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    os.close(descriptor)
    temporary = Path(name)
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


def _mode(target: Path) -> int:
    """Permissions of a file that is there, else the usual ones."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
