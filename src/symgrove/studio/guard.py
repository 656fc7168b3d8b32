"""Whom the studio answers: this machine's browser, at the address with the token, and pages of its own.

    address     http://127.0.0.1:PORT/TOKEN/   everything is below the token, also scripts and styles
    Host        127.0.0.1 or localhost with the port: a name that somebody has pointed here is refused
    Origin      if there is one, it is ours
    Sec-Fetch-Site   requests come from our pages; only the page itself may be opened from elsewhere

There are no cookies: those of 127.0.0.1 would go to every port of the machine.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
# A report is a file that holds its scripts. In a sandbox it has no origin: it reads nothing from here.
REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'unsafe-inline'; img-src data:; font-src data:; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'self'"
)
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": PAGE_POLICY,
}


class Guard:
    """Lets requests through to an application, or refuses them.

    Parameters
    ----------
    app : callable
        Sees paths without the token.
    token : str
    port : int
    """

    def __init__(self, app: App, token: str, port: int) -> None:
        self._app, self._token = app, token.encode()
        self._hosts = {f"127.0.0.1:{port}".encode(), f"localhost:{port}".encode()}
        self._origins = {b"http://" + host for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        path = self._path_below(scope)
        if path is None or not self._is_ours(scope, path):
            await _refuse(send)
            return

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = [*message.get("headers", [])]
                known = {name.lower() for name, _ in own}
                own += [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in known]
                message = {**message, "headers": own}
            await send(message)

        await self._app({**scope, "path": path, "raw_path": path.encode()}, receive, with_headers)

    def _path_below(self, scope: Scope) -> str | None:
        """The path behind the token, or None without it."""
        first, slash, rest = str(scope["path"]).removeprefix("/").partition("/")
        is_ours = hmac.compare_digest(first.encode("utf-8", "replace"), self._token)
        return f"/{rest}" if is_ours and slash else None

    def _is_ours(self, scope: Scope, path: str) -> bool:
        given: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name.lower(), []).append(value)
        hosts, origins, sites = (given.get(name, []) for name in (b"host", b"origin", b"sec-fetch-site"))
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return False
        if not all(origin in self._origins for origin in origins):
            return False
        is_opened = scope["method"] == "GET" and given.get(b"sec-fetch-mode", []) == [b"navigate"]
        is_in_frame = given.get(b"sec-fetch-dest", []) not in ([b"document"], [])
        if is_opened and path == "/" and not is_in_frame:
            return True
        return all(site in (b"same-origin", b"none") for site in sites)


async def _refuse(send: Send) -> None:
    headers = {**HEADERS, "content-type": "text/plain; charset=utf-8"}
    named = [(name.encode(), value.encode()) for name, value in headers.items()]
    text = b"refused: open the studio by the address that `symgrove studio` printed\n"
    await send({"type": "http.response.start", "status": 403, "headers": named})
    await send({"type": "http.response.body", "body": text})
