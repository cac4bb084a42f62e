"""A headless Chromium that a test drives: opens pages, clicks, types, looks, prints. DevTools over a pipe, no package.

with Browser(profile_folder) as browser:
    page = browser.open(path.as_uri(), width=390, touch=True, dark=True)
    page.evaluate("document.title")
    page.click("#theme")
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    *("--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe"),
)
_ANSWER_S = 120.0

# The browser reads commands at 3 and writes answers to 4; our own ends lie above.
_LOWEST = 10
_PLACED = """
import os, sys
for number, end in ((3, sys.argv[1]), (4, sys.argv[2])):
    os.dup2(int(end), number)
    os.close(int(end))
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One process with a profile of its own; ended with all that it has started.

    Args:
        profile: a folder of the test's.
        hosts: what `--host-resolver-rules` says; by default nothing outside can be found.
    """

    def __init__(self, profile: Path, hosts: str = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1") -> None:
        chromium = shutil.which("chromium")
        assert chromium is not None
        there, self._write = _high(os.pipe())
        self._read, here = _high(os.pipe())
        command = [chromium, *_FLAGS, f"--user-data-dir={profile}", f"--host-resolver-rules={hosts}", "about:blank"]

        self._process = subprocess.Popen(
            [sys.executable, "-IS", "-c", _PLACED, str(there), str(here), *command],
            pass_fds=(there, here),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(there)
        os.close(here)
        self._buffer = b""
        self._number = 0
        self._pages: dict[str, Page] = {}

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def open(self, url: str, *, width: int = 1280, height: int = 900, touch: bool = False, dark: bool = False) -> Page:
        """A new page that has loaded `url`; `width` and `height` in CSS pixels."""
        target = self.send("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": touch}
        page.send("Emulation.setDeviceMetricsOverride", size)
        page.send("Emulation.setTouchEmulationEnabled", {"enabled": touch})
        page.prefer(dark=dark)
        page.go(url)
        return page

    def send(self, method: str, params: dict[str, Any] | None = None, session: str | None = None) -> dict[str, Any]:
        """One command and its answer.

        Raises:
            RuntimeError: the browser refuses it.
            TimeoutError: it does not answer.
        """
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        for answer in self._messages(time.monotonic() + _ANSWER_S):
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
        raise TimeoutError(f"no answer to {method}")

    def _messages(self, until: float) -> Iterator[dict[str, Any]]:
        """What comes until then; events go to their pages on the way."""
        while True:
            while b"\0" in self._buffer:
                line, _, self._buffer = self._buffer.partition(b"\0")
                message = json.loads(line)
                page = self._pages.get(message.get("sessionId", ""))
                if page is not None and "method" in message:
                    page.hear(message["method"], message["params"])
                yield message
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return
            chunk = os.read(self._read, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser has ended")
            self._buffer += chunk


class Page:
    """One page.

    Attributes:
        problems: exceptions of its scripts, and what its policy or the browser complained of.
        requests: what it asked for that is neither itself nor in itself.
    """

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        self.problems: list[str] = []
        self.requests: list[str] = []

    def send(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """A command to this page."""
        return self._browser.send(method, params, self._session)

    def hear(self, method: str, params: dict[str, Any]) -> None:
        """Take an event."""
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:", "about:")):
                self.requests.append(url)

    def go(self, url: str) -> None:
        """Load an address."""
        self.send("Page.navigate", {"url": url})
        self.wait(f"location.href.startsWith({json.dumps(url)}) && document.readyState === 'complete'")

    def prefer(self, *, dark: bool, calm: bool = True) -> None:
        """What the person has chosen in their system: a dark theme, less motion."""
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if calm else "no-preference"},
        ]
        self.send("Emulation.setEmulatedMedia", {"features": features})

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page, a promise's when it is kept.

        Raises:
            AssertionError: it throws.
        """
        asked = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        found = self.send("Runtime.evaluate", asked)
        thrown = found.get("exceptionDetails")
        assert thrown is None, thrown.get("exception", {}).get("description", thrown)
        return found["result"].get("value")

    def wait(self, expression: str, at_most_s: float = 60.0) -> None:
        """Until an expression is true.

        Raises:
            AssertionError: it does not become true.
        """
        end = time.monotonic() + at_most_s
        while not self.evaluate(f"Boolean({expression})"):
            assert time.monotonic() < end, f"in vain: {expression}"
            time.sleep(0.05)

    def click(self, selector: str) -> None:
        """A mouse click in the middle of an element, which is brought into view."""
        self.evaluate(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        box = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        x, y = self.evaluate(f"(() => {{ const b = {box}; return [b.x + b.width / 2, b.y + b.height / 2] }})()")
        self.click_at(x, y)

    def click_at(self, x: float, y: float) -> None:
        """A mouse click at a place [CSS pixels of the window]."""
        self.send("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
        for kind in ("mousePressed", "mouseReleased"):
            event = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
            self.send("Input.dispatchMouseEvent", event)

    def press(self, key: str, text: str = "") -> None:
        """One key, such as `Tab` or `Enter` (with the text "\\r")."""
        self.send("Input.dispatchKeyEvent", {"type": "keyDown", "key": key, "code": key, "text": text, **_CODES[key]})
        self.send("Input.dispatchKeyEvent", {"type": "keyUp", "key": key, "code": key, **_CODES[key]})

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """A PNG of the whole page, or of what the window shows."""
        shot = self.send(
            "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole, **self._clip(whole)}
        )
        path.write_bytes(base64.b64decode(shot["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def pdf(self, path: Path) -> None:
        """The page as it is printed."""
        printed = self.send("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": False})
        path.write_bytes(base64.b64decode(printed["data"]))


_CODES = {"Tab": {"windowsVirtualKeyCode": 9}, "Enter": {"windowsVirtualKeyCode": 13}}


def _high(ends: tuple[int, int]) -> tuple[int, int]:
    """Both ends of a pipe under numbers that the browser's own two do not take."""
    first, second = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _LOWEST) for end in ends)
    for end in ends:
        os.close(end)
    return first, second
