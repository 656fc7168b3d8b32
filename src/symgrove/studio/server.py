"""The server: a page, what it asks, and streams of events. All that takes a while is done by other processes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from symgrove import __version__
from symgrove.studio.events import condensed, events_after
from symgrove.studio.folder import remove
from symgrove.studio.guard import REPORT_POLICY, App, Guard
from symgrove.studio.making import EXPORTS, REPORT, made, missing
from symgrove.studio.settings import seconds_from
from symgrove.studio.store import NotFoundError, StudioStore, printable

LARGEST_UPLOAD = 200 << 20
LARGEST_REQUEST = 4 << 20  # of JSON
BETWEEN_LOOKS, BETWEEN_SIGNS = 0.2, 10.0  # seconds
PAGE_FILES = {
    **dict.fromkeys(("base.css", "studio.css"), "text/css"),
    **dict.fromkeys(
        ("main.js", "dom.js", "home.js", "data.js", "watch.js", "charts.js", "result.js", "compare.js"),
        "text/javascript",
    ),
}
Endpoint = Callable[[Request], Awaitable[Response]]


class TooLargeError(Exception):
    """More was sent than is taken."""


def make_app(store: StudioStore, token: str, port: int, first: str | None = None) -> App:
    """The application behind its guard; `first` is the table that the page begins with."""
    return Guard(_Studio(store, first).app(), token, port)


class _Studio:
    def __init__(self, store: StudioStore, first: str | None) -> None:
        self.store, self.first = store, first

    def app(self) -> Starlette:
        routes = [
            Route("/", self.page),
            Route("/page/{name}", self.page_file),
            Route("/api/state", _answered(self.state)),
            Route("/api/tables", _answered(self.upload), methods=["PUT"]),
            Route("/api/tables/{name}", _answered(self.table), methods=["GET"]),
            Route("/api/tables/{name}", _answered(self.remove_table), methods=["DELETE"]),
            Route("/api/runs", _answered(self.begin), methods=["POST"]),
            Route("/api/runs/{name}", _answered(self.run), methods=["GET"]),
            Route("/api/runs/{name}", _answered(self.remove_run), methods=["DELETE"]),
            Route("/api/runs/{name}/stop", _answered(self.stop), methods=["POST"]),
            Route("/api/runs/{name}/continue", _answered(self.go_on), methods=["POST"]),
            Route("/api/runs/{name}/code", _answered(self.code)),
            Route("/api/runs/{name}/events", _answered(self.events)),
            Route("/api/runs/{name}/model", _answered(self.model)),
            Route("/api/runs/{name}/report", _answered(self.report)),
            Route("/api/runs/{name}/export/{to}", _answered(self.export)),
        ]
        return Starlette(routes=routes)

    # The page

    async def page(self, request: Request) -> Response:
        return Response(_page_file("index.html"), media_type="text/html")

    async def page_file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in PAGE_FILES:
            return _error(404, "there is no such file.")
        return Response(_page_file(name), media_type=PAGE_FILES[name])

    async def state(self, request: Request) -> Response:
        """What there is, the latest first."""
        found = {"version": __version__, "folder": str(self.store.folder.path), "first": self.first}
        there = {"tables": self.store.tables(), "runs": self.store.runs()}
        return JSONResponse({**found, "largest_upload": LARGEST_UPLOAD, "missing": missing(), **there})

    # Tables

    async def upload(self, request: Request) -> Response:
        """A table, as the body of the request."""
        folder, file = self.store.new_table(request.query_params.get("name", ""))
        try:
            await _received(request, file)
        except BaseException:
            remove(folder)
            raise
        self.store.processes.start(folder)
        return JSONResponse({"id": folder.name}, status_code=201)

    async def table(self, request: Request) -> Response:
        found = self.store.table(request.path_params["name"])
        if found["state"] == "ready":  # a run is about to begin
            self.store.processes.warm_up()
        return JSONResponse(found)

    async def remove_table(self, request: Request) -> Response:
        self.store.remove_table(request.path_params["name"])
        return Response(status_code=204)

    # Runs

    async def begin(self, request: Request) -> Response:
        return JSONResponse({"id": self.store.new_run(await _json(request))}, status_code=201)

    async def run(self, request: Request) -> Response:
        return JSONResponse({**self.store.run(request.path_params["name"]), "missing": missing()})

    async def stop(self, request: Request) -> Response:
        given = await _json(request)
        give_up = isinstance(given, dict) and given.get("give_up") is True
        self.store.stop(request.path_params["name"], give_up=give_up)
        return Response(status_code=204)

    async def go_on(self, request: Request) -> Response:
        self.store.go_on(request.path_params["name"], seconds_from(await _json(request)))
        return Response(status_code=204)

    async def remove_run(self, request: Request) -> Response:
        self.store.remove_run(request.path_params["name"])
        return Response(status_code=204)

    async def code(self, request: Request) -> Response:
        return JSONResponse(self.store.code(request.path_params["name"]))

    async def events(self, request: Request) -> Response:
        """What happens, as server-sent events; `Last-Event-ID`, or `after`, says where to go on."""
        name = request.path_params["name"]
        folder = self.store.find_run(name)
        last = request.headers.get("last-event-id") or request.query_params.get("after", "")
        place = int(last) if last.isdecimal() and len(last) < 16 else 0
        stream = self._stream(folder, place, request)
        return StreamingResponse(stream, media_type="text/event-stream")

    async def _stream(self, folder: Path, place: int, request: Request) -> AsyncIterator[str]:
        file, quiet, last = folder / "events.jsonl", 0.0, ""
        yield "retry: 1000\n\n"
        events = condensed(file) if place == 0 else events_after(file, place)
        while not await request.is_disconnected():
            for event in events:
                yield f"id: {event.id}\ndata: {event.text}\n\n"
                place, last = event.id, event.kind
            is_over = last == "end" or not (events or self.store.processes.is_at_work(folder))
            events = events_after(file, place)
            if is_over and not events:
                yield "event: over\ndata: {}\n\n"
                return
            quiet = 0.0 if events else quiet + BETWEEN_LOOKS
            if quiet >= BETWEEN_SIGNS:
                quiet = 0.0
                yield ": here\n\n"
            if not events:
                await asyncio.sleep(BETWEEN_LOOKS)

    # To take away

    async def model(self, request: Request) -> Response:
        folder = self.store.find_run(request.path_params["name"])
        if not (folder / "model.json").exists():
            raise ValueError("the run has no model yet.")
        return FileResponse(folder / "model.json", media_type="application/json", filename="model.json")

    async def report(self, request: Request) -> Response:
        """The report in a frame, which cannot reach what is outside of it."""
        file = await self._made(request.path_params["name"], "report")
        theme = request.query_params.get("theme")
        headers = {"content-security-policy": REPORT_POLICY, "cross-origin-resource-policy": "same-origin"}
        if request.query_params.get("download"):
            return FileResponse(file, media_type=REPORT.kind, filename="report.html", headers=headers)
        text = file.read_text(encoding="utf-8")
        if theme in ("light", "dark"):
            text = text.replace("<html ", f'<html data-theme="{theme}" ', 1)
        return Response(text, media_type="text/html", headers=headers)

    async def export(self, request: Request) -> Response:
        to = request.path_params["to"]
        if to not in EXPORTS:
            raise NotFoundError
        file = await self._made(request.path_params["name"], to)
        return FileResponse(file, media_type=EXPORTS[to].kind, filename=f"model.{EXPORTS[to].suffix}")

    async def _made(self, name: str, what: str) -> Path:
        run = self.store.run(name)
        title = printable(f"{run['settings']['target']} ({run['table_name']})")
        data = self.store.data_of(name) if what == "report" else Path()
        return await made(self.store.find_run(name), what, data, title)


def _answered(endpoint: Endpoint) -> Endpoint:
    """Errors of users are answers."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except NotFoundError:
            return _error(404, "there is no such table or run.")
        except TooLargeError as error:
            return _error(413, str(error))
        except ValueError as error:
            return _error(400, str(error))
        except OSError as error:
            return _error(500, f"{error.filename or 'a file'}: {error.strerror or error}")

    return answer


def _error(status: int, text: str) -> Response:
    return JSONResponse({"error": text}, status_code=status)


def _page_file(name: str) -> str:
    """Scripts and styles; what the page shares with the report is the report's."""
    place = files("symgrove.report") / "page.css" if name == "base.css" else files("symgrove.studio") / "page" / name
    return place.read_text(encoding="utf-8")


async def _json(request: Request) -> Any:
    """The body of a request, which is small."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > LARGEST_REQUEST:
            raise TooLargeError("the request is too large.")
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError("the request is not JSON.") from None


async def _received(request: Request, file: Path) -> None:
    """Write the body of a request into a file, up to a limit."""
    too_large = f"the file is larger than {LARGEST_UPLOAD >> 20} MB; give it on the command line: symgrove studio FILE."
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > LARGEST_UPLOAD:
        raise TooLargeError(too_large)
    n_bytes = 0
    try:
        with open(file, "xb") as stream:
            async for chunk in request.stream():
                n_bytes += len(chunk)
                if n_bytes > LARGEST_UPLOAD:
                    raise TooLargeError(too_large)
                stream.write(chunk)
    except ClientDisconnect:
        raise ValueError("the upload was broken off.") from None
    if not n_bytes:
        raise ValueError("the file is empty.")
