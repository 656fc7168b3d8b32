"""Listen on this machine only, and open the page."""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from html import escape
from pathlib import Path

import uvicorn

from symgrove.studio.server import make_app
from symgrove.studio.store import StudioStore

SECONDS_TO_CLOSE = 1  # that streams have


def serve(store: StudioStore, port: int, first: str | None, *, opens: bool, tell: Callable[[str], None]) -> None:
    """Serve until Ctrl-C.

    Parameters
    ----------
    store : StudioStore
    port : int
        0: one that is free.
    first : str, optional
        The table that the page begins with.
    opens : bool
        Whether to open a browser.
    tell : callable
        Says something to the person in front of the terminal.
    """
    token = secrets.token_urlsafe(24)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(os.name == "posix"))
        try:
            listening.bind(("127.0.0.1", port))
        except OSError as error:
            raise ValueError(f"port {port} is taken ({error.strerror}); --port 0 takes one that is free.") from None
        listening.listen()  # whoever is quick waits until the server answers
        port = listening.getsockname()[1]
        address = f"http://127.0.0.1:{port}/{token}/"
        tell(f"studio: {address}")
        tell(f"its folder: {store.folder.path}; runs go on when this ends, Ctrl-C ends it")
        config = uvicorn.Config(
            make_app(store, token, port, first),
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws="none",
            http="h11",
            server_header=False,
            timeout_graceful_shutdown=SECONDS_TO_CLOSE,
        )
        with tempfile.TemporaryDirectory(prefix="symgrove-studio-") as folder:
            if opens:
                threading.Timer(0.1, _open, (address, Path(folder))).start()
            uvicorn.Server(config).run(sockets=[listening])


def _open(address: str, folder: Path) -> None:
    """Open the address in a browser by way of a file that only its owner reads: others see what programs are given."""
    file = folder / "open.html"
    file.touch(mode=0o600)
    place = escape(address)
    file.write_text(
        '<!doctype html><meta charset="utf-8"><title>symgrove studio</title>'
        f'<meta http-equiv="refresh" content="0; url={place}"><a href="{place}">symgrove studio</a>',
        encoding="utf-8",
    )
    webbrowser.open(file.as_uri())
