"""The client that sends weights to a vLLM server: it takes no credential along."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")
pytest.importorskip("vllm", reason="TRL's client asks for vLLM: pip install '.[vllm]'")


class Recorder(BaseHTTPRequestHandler):
    """Answers anything, and keeps the credentials that came with it."""

    came: list[str | None]

    def do_GET(self) -> None:
        self.came.append(self.headers.get("Authorization"))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@pytest.mark.attack("an engine_url of a folder, and a default in ~/.netrc", "no credential goes")
def test_no_line_of_a_netrc_goes_to_a_vllm_server(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    from harness.train.engines import vllm_server

    (tmp_path / ".netrc").write_text("default login me password canary\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    Recorder.came = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            with pytest.raises(Exception):  # noqa: B017, PT011 - no such server speaks NCCL
                vllm_server.WeightSender(url, "cpu", lambda: iter(()))
        finally:
            server.shutdown()
    record_property("seen", f"{len(Recorder.came)} requests, credentials {set(Recorder.came)}")
    assert Recorder.came
    assert set(Recorder.came) == {None}
