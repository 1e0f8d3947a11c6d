"""Headless Chromium, controlled through its debugging pipe, to test pages as readers see them."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
KEY_CODES = {
    "Tab": 9, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip
"""Without its code a key event reaches the page's script, but the browser does not scroll."""
WAIT_S = 60.0
WORDS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--remote-debugging-pipe",
)  # fmt: skip


def program() -> str | None:
    """Return the path of a browser on this machine; None if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One tab. Commands are those of the Chrome DevTools Protocol."""

    def __init__(self, path: str, folder: Path) -> None:
        read_commands, write_commands = os.pipe()
        read_answers, write_answers = os.pipe()
        # the browser takes commands on descriptor 3 and answers on 4
        script = f'exec "$0" "$@" 3<&{read_commands} 4>&{write_answers}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, path, *WORDS, f"--user-data-dir={folder}", "about:blank"],
            pass_fds=(read_commands, write_answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_commands)
        os.close(write_answers)
        self._write, self._read = write_commands, read_answers
        self._number, self._rest, self._session = 0, b"", ""
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **values: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self._number += 1
        command: dict[str, Any] = {"id": self._number, "method": method, "params": values}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._write, json.dumps(command).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return dict(message["result"])
            self.events.append(message)

    def _message(self) -> dict[str, Any]:
        deadline = time.monotonic() + WAIT_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            data = os.read(self._read, 1 << 16)
            assert data, "the browser has ended"
            self._rest += data
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))

    def open(self, address: str) -> None:
        """Load a page and wait until it is complete."""
        for url in ("about:blank", address):  # a new hash alone does not load a page
            self.events.clear()
            self.send("Page.navigate", url=url)
            deadline = time.monotonic() + WAIT_S
            while self._page_state() != [url, "complete"]:
                assert time.monotonic() < deadline, f"{url} does not load"
                time.sleep(0.02)

    def _page_state(self) -> list[str] | None:
        values = {"expression": "[location.href, document.readyState]", "returnByValue": True}
        reply = self.send("Runtime.evaluate", **values)
        value: list[str] | None = reply["result"].get("value")
        return value

    def js(self, code: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        reply = self.send("Runtime.evaluate", expression=code, returnByValue=True)
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    def key(self, name: str) -> None:
        for kind in ("keyDown", "keyUp"):
            code = KEY_CODES[name]
            self.send(
                "Input.dispatchKeyEvent",
                type=kind, key=name, code=name, windowsVirtualKeyCode=code,
            )  # fmt: skip

    def mouse(self, x: float, y: float) -> None:
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def width(self, pixels: int, height: int = 900) -> None:
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=pixels, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def scheme(self, name: str) -> None:
        """Set the system's preferred colour scheme, `light` or `dark`."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def picture(self) -> bytes:
        """Return a screenshot as PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot")["data"])

    @property
    def troubles(self) -> list[dict[str, Any]]:
        """Exceptions, console messages and policy violations since the page was opened."""
        bad = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [event for event in self.events if event.get("method") in bad]

    @property
    def requests(self) -> list[str]:
        """The URLs that the page requested."""
        events = [e for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in events]

    def close(self) -> None:
        for descriptor in (self._write, self._read):
            os.close(descriptor)
        self._process.terminate()
        self._process.wait(20)
