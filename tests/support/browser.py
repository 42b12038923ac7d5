"""A real browser without a head, driven over WebDriver's HTTP with the standard library alone. Knows no page."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 60  # for one answer of a busy machine
FLAGS = (
    "--headless",
    "--no-sandbox",  # a user namespace may not be had; the pages are our own
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
)
ENTER, TAB, SPACE = "\ue007", "\ue004", " "


class NoBrowser(Exception):
    """There is none on this machine; the message says what to install."""


def find() -> tuple[str, str]:
    """The browser's program and its driver's."""
    program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        raise NoBrowser("no Chromium with its driver on PATH: install Debian's packages chromium and chromium-driver")
    return program, driver


class Browser:
    """One window. `open` a file, look at it with `js`, and ask at the end what it complained about or asked for."""

    def __init__(self) -> None:
        program, driver = find()
        self._folder = tempfile.mkdtemp(prefix="browser-")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        # What the browser starts must not ask anybody anything, so it gets a home without settings.
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": self._folder, "LANG": "C.UTF-8"}
        self._driver = subprocess.Popen(
            [driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env
        )
        self._url = f"http://127.0.0.1:{port}"
        self._session = ""
        try:
            self._wait_until_ready()
            options = {"binary": program, "args": [*FLAGS, f"--user-data-dir={self._folder}/profile", "about:blank"]}
            wanted = {
                "browserName": "chrome",
                "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            }
            made = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self._session = f"/session/{made['sessionId']}"
        except BaseException:
            self.close()
            raise

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + SECONDS
        while True:
            try:
                self._send("GET", "/status")
                return
            except OSError:
                if time.monotonic() > until or self._driver.poll() is not None:
                    raise
                time.sleep(0.05)

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None and method == "GET" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self._url + path, data, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"].partition("\n")[0]) from None

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser, and everything that it has left."""
        try:
            if self._session:
                self._send("DELETE", self._session)
        except (OSError, AssertionError):
            pass  # it has ended by itself
        self._driver.terminate()
        self._driver.wait(SECONDS)
        shutil.rmtree(self._folder, ignore_errors=True)

    def devtools(self, command: str, **params: Any) -> Any:
        return self._send("POST", f"{self._session}/goog/cdp/execute", {"cmd": command, "params": params})

    def show(self, *, width: int = 1280, height: int = 900, dark: bool = False, script: bool = True) -> None:
        """As on such a screen, for somebody who likes it dark or light."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.devtools("Emulation.setEmulatedMedia", features=features)

    def open(self, path: Path) -> None:
        self.logged("browser")
        self.logged("performance")
        self._send("POST", f"{self._session}/url", {"url": path.as_uri()})

    def js(self, script: str, *args: Any) -> Any:
        """What a script returns; it runs beside the page, whose own policy does not hold for it."""
        return self._send("POST", f"{self._session}/execute/sync", {"script": script, "args": list(args)})

    def logged(self, kind: str) -> list[dict[str, Any]]:
        """What was logged since it was last asked."""
        found: list[dict[str, Any]] = self._send("POST", f"{self._session}/se/log", {"type": kind})
        return found

    def complaints(self) -> list[str]:
        """What the console has shown since the page was opened."""
        return [str(entry["message"]) for entry in self.logged("browser")]

    def requests(self) -> list[str]:
        """Every address that was asked for since the page was opened."""
        messages = [json.loads(entry["message"])["message"] for entry in self.logged("performance")]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def click(self, selector: str) -> None:
        """As a person does: it must be in sight, and nothing on top of it."""
        found = self._send("POST", f"{self._session}/element", {"using": "css selector", "value": selector})
        (element,) = found.values()
        self._send("POST", f"{self._session}/element/{element}/click")

    def press(self, *keys: str) -> None:
        """Each key, wherever the focus is."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        keyboard = {"type": "key", "id": "keyboard", "actions": actions}
        self._send("POST", f"{self._session}/actions", {"actions": [keyboard]})

    def photograph(self, path: Path, *, whole: bool = True) -> None:
        """For people to look at."""
        shot = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))
