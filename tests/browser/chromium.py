"""Headless Chromium, driven over its DevTools protocol by a WebSocket of a few lines: no package is needed."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import secrets
import shutil
import socket
import struct
import subprocess
import time
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-quic", "--hide-scrollbars", "--remote-debugging-port=0",
)  # fmt: skip
PATIENCE = 60.0  # seconds for an answer


def program() -> str | None:
    """The path of Chromium; None where it is not installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """A tab, and what it has said to its console and asked of the network."""

    def __init__(self, url: str) -> None:
        host, _, rest = url.removeprefix("ws://").partition("/")
        name, _, port = host.partition(":")
        self._socket = socket.create_connection((name, int(port)), timeout=PATIENCE)
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        lines = [f"GET /{rest} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade"]
        lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "", ""]
        self._socket.sendall("\r\n".join(lines).encode())
        self._stream = self._socket.makefile("rb")
        while self._stream.readline().strip():
            pass
        self._numbers = itertools.count(1)
        self.events: list[dict[str, Any]] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def wait_for(self, seconds: float) -> None:
        """Give each answer so many seconds from now on."""
        self._socket.settimeout(seconds)

    def close(self) -> None:
        """Leave the tab."""
        self._stream.close()
        self._socket.close()

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to one command; events that come before it are kept."""
        number = next(self._numbers)
        self._send(json.dumps({"id": number, "method": method, "params": parameters}).encode())
        while True:
            told = json.loads(self._receive())
            if told.get("id") == number:
                assert "error" not in told, (method, told["error"])
                return told["result"]
            self.events.append(told)

    def _send(self, data: bytes) -> None:
        mask, size = secrets.token_bytes(4), len(data)
        head = struct.pack("!BB", 0x81, 0x80 | min(size, 127)) if size < 126 else None
        head = head or (
            struct.pack("!BBH", 0x81, 0xFE, size) if size < 1 << 16 else struct.pack("!BBQ", 0x81, 0xFF, size)
        )
        self._socket.sendall(head + mask + bytes(b ^ mask[k % 4] for k, b in enumerate(data)))

    def _receive(self) -> bytes:
        parts = []
        while True:
            first, second = self._stream.read(2)
            size = second & 127
            if size > 125:
                size = int.from_bytes(self._stream.read(2 if size == 126 else 8), "big")
            parts.append(self._stream.read(size))
            if first & 0x80:
                return b"".join(parts)

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        told = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def goto(self, path: Path) -> None:
        """Load a file, and wait until it is there."""
        self.events.clear()
        self.ask("Page.navigate", url=path.resolve().as_uri())
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.evaluate("document.readyState === 'complete' && location.href !== 'about:blank'"):
                return
            time.sleep(0.02)
        raise TimeoutError(path)

    def frame(self) -> None:
        """Wait until what was asked to be drawn is."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """One event of the mouse at a place of the window."""
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def touch(self, kind: str, *places: tuple[float, float]) -> None:
        """One event of fingers: those that touch the window, in the same order each time."""
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(places)]
        self.ask("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    def resize(self, width: int, height: int) -> None:
        """A window of another size; one of a phone's width is a phone's."""
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def prefer(self, scheme: str) -> None:
        """Ask for light or dark colours, as a user's system does."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def click(self, x: float, y: float) -> None:
        """A click."""
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)
        self.frame()

    def press(self, key: str) -> None:
        """A key of no text."""
        for kind in ("keyDown", "keyUp"):
            self.ask(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=13 if key == "Enter" else 0,
            )
        self.frame()

    def type(self, text: str) -> None:
        """A text, where the focus is."""
        self.ask("Input.insertText", text=text)
        self.frame()

    def screenshot(self, path: Path) -> None:
        """A picture of the window."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    @property
    def problems(self) -> list[Any]:
        """Errors and warnings that the page has told."""
        self.evaluate("1")
        errors = [e["params"] for e in self.events if e["method"] == "Runtime.exceptionThrown"]
        lines = [e["params"] for e in self.events if e["method"] == "Runtime.consoleAPICalled"]
        logged = [e["params"]["entry"] for e in self.events if e["method"] == "Log.entryAdded"]
        return [*errors, *(one for one in lines if one["type"] in ("error", "warning")), *logged]

    @property
    def requests(self) -> list[str]:
        """The addresses that the page has asked for, but its own file."""
        urls = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return urls[1:]


@contextlib.contextmanager
def opened(folder: Path, width: int = 1400, height: int = 900, *options: str) -> Iterator[Page]:
    """A tab of a browser of its own, which ends with the block.

    Args:
        folder: is empty, and has the browser's files.
    """
    path = program()
    assert path is not None
    command = [path, *OPTIONS, f"--window-size={width},{height}", f"--user-data-dir={folder}", *options, "about:blank"]
    environment = {**os.environ, "HOME": str(folder)}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as browser:
        try:
            page = Page(_address(folder))
            try:
                yield page
            finally:
                page.close()
        finally:
            browser.terminate()
            browser.wait(PATIENCE)


def _address(folder: Path) -> str:
    """The address of the first tab, when the browser says on which port it listens."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(OSError, ValueError, LookupError, StopIteration):
            port = (folder / "DevToolsActivePort").read_text().split()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=5) as answer:
                tabs = json.loads(answer.read())
            return next(str(tab["webSocketDebuggerUrl"]) for tab in tabs if tab["type"] == "page")
        time.sleep(0.05)
    raise TimeoutError(folder)
