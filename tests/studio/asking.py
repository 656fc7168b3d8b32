"""Asks an application without a network, and a studio over one."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

TOKEN, PORT = "a-token", 8123
OURS = {"host": f"127.0.0.1:{PORT}"}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def ask(app, path, method="GET", body=(), headers=None, beyond=f"/{TOKEN}"):
    """Status, headers and content of an answer; `body` are the chunks of the request."""
    chunks = [*body] or [b""]
    sent = []

    async def receive():
        if chunks:
            return {"type": "http.request", "body": chunks.pop(0), "more_body": bool(chunks)}
        return await asyncio.Event().wait()  # whoever asks stays

    async def send(message):
        sent.append(message)

    place, _, query = path.partition("?")
    given = [(name.encode(), value.encode()) for name, value in {**OURS, **(headers or {})}.items()]
    scope = {
        "type": "http", "http_version": "1.1", "method": method, "scheme": "http", "path": beyond + place,
        "raw_path": (beyond + place).encode(), "query_string": query.encode(), "root_path": "", "headers": given,
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", PORT),
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    named = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], named, b"".join(message.get("body", b"") for message in sent[1:])


class Studio:
    """A `symgrove studio` under way."""

    def __init__(self, folder, *more):
        own = [sys.executable, "-c", "from symgrove.cli.app import app; app()", "studio", "--no-browser", *more]
        self.process = subprocess.Popen(
            [*own, "--folder", str(folder)], stderr=subprocess.PIPE, text=True, env={**os.environ, **ONE_THREAD}
        )
        self.address = re.search(r"http://\S+", self.process.stderr.readline())[0]

    def kill(self):
        """As the system does."""
        self.process.send_signal(signal.SIGKILL)
        self.end()

    def end(self):
        self.process.terminate()
        self.process.wait(20)
        self.process.stderr.close()

    def get(self, path, method="GET", body=None, headers=None):
        request = urllib.request.Request(self.address + path, method=method, data=body, headers=headers or {})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def status(self, path, **own):
        """Of an answer, whatever it is."""
        try:
            self.get(path, **own)
        except urllib.error.HTTPError as error:
            with error:
                return error.code
        return 200

    def json(self, path, method="GET", value=None):
        content = self.get(path, method, None if value is None else json.dumps(value).encode())
        return json.loads(content) if content else None

    def upload(self, name, content):
        """A table that has been read."""
        made = json.loads(self.get(f"api/tables?name={name}", "PUT", content))["id"]
        return until(lambda: self.json(f"api/tables/{made}"), lambda table: table["state"] != "reading")

    def run(self, name, **wanted):
        """A run, once it is as wanted."""
        return until(
            lambda: self.json(f"api/runs/{name}"), lambda run: all(run[key] == value for key, value in wanted.items())
        )


def until(look, is_enough, seconds=60):
    """What is there, once it is enough."""
    end = time.monotonic() + seconds
    while not is_enough(found := look()):
        assert time.monotonic() < end, found
        time.sleep(0.05)
    return found
