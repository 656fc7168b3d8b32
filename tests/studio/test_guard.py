"""Whom the studio answers."""

import pytest

pytest.importorskip("starlette")

from symgrove.studio.folder import Folder
from symgrove.studio.processes import Processes
from symgrove.studio.server import make_app
from symgrove.studio.store import StudioStore
from tests.studio.asking import PORT, TOKEN, ask

ORIGIN = f"http://127.0.0.1:{PORT}"
FROM_A_PAGE = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty", "origin": ORIGIN}
OPENED = {"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
FROM_ELSEWHERE = {**OPENED, "sec-fetch-site": "cross-site"}


@pytest.fixture
def app(tmp_path):
    return make_app(StudioStore(Folder(tmp_path), Processes(["no-such-program"])), TOKEN, PORT)


@pytest.mark.parametrize("path", ["/", "/page/main.js", "/page/base.css", "/api/state"])
def test_whoever_has_the_address_is_answered(app, path):
    for headers in ({}, FROM_A_PAGE, OPENED, {"host": f"localhost:{PORT}", "origin": f"http://localhost:{PORT}"}):
        assert ask(app, path, headers=headers)[0] == 200, headers


@pytest.mark.parametrize(
    "beyond", ["", "/", "/x", f"/{TOKEN[:-1]}", f"/{TOKEN}x", f"//{TOKEN}", f"/{TOKEN.upper()}", "/%00"]
)
@pytest.mark.parametrize("path", ["/", "/page/main.js", "/api/state"])
def test_without_the_token_everything_is_refused(app, beyond, path):
    status, headers, content = ask(app, path, beyond=beyond)
    assert status == 403
    assert TOKEN.encode() not in content
    assert TOKEN not in str(headers)


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "example.org"},
        {"host": f"example.org:{PORT}"},
        {"host": "127.0.0.1"},
        {"host": f"127.0.0.1:{PORT + 1}"},
        {"host": f"127.0.0.1.example.org:{PORT}"},
        {"host": ""},
        {"origin": "http://example.org"},
        {"origin": "null"},
        {"origin": f"https://127.0.0.1:{PORT}"},
        {"origin": f"http://127.0.0.1:{PORT + 1}"},
        {**FROM_A_PAGE, "sec-fetch-site": "cross-site"},
        {**FROM_A_PAGE, "sec-fetch-site": "same-site"},  # another port of this machine
    ],
)
def test_other_hosts_and_other_sites_are_refused(app, headers):
    for path, method in (("/", "GET"), ("/api/state", "GET"), ("/api/runs", "POST")):
        assert ask(app, path, method, headers=headers)[0] == 403


def test_the_page_may_be_opened_from_elsewhere_and_nothing_else(app):
    assert ask(app, "/", headers=FROM_ELSEWHERE)[0] == 200
    assert ask(app, "/api/state", headers=FROM_ELSEWHERE)[0] == 403
    assert ask(app, "/", headers={**FROM_ELSEWHERE, "sec-fetch-dest": "iframe"})[0] == 403
    assert ask(app, "/", headers={**FROM_ELSEWHERE, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"})[0] == 403


def test_a_second_host_header_is_refused(app):
    sent = []

    async def twice(scope, receive, send):
        scope["headers"].append((b"host", b"example.org"))
        await app(scope, receive, send)

    sent.append(ask(twice, "/"))
    assert sent[0][0] == 403


def test_every_answer_says_what_browsers_may_do_with_it(app):
    for path in ("/", "/api/state", "/api/runs/none", "/nothing"):
        _, headers, _ = ask(app, path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers
        assert "set-cookie" not in headers
