"""Firefox by plain WebDriver BiDi, since Playwright cannot touch its screen."""

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

PREFERENCES = {"dom.w3c_touch_events.enabled": 1, "ui.prefersReducedMotion": 1, "remote.active-protocols": 1}
"""Touch, reduced motion, and WebDriver BiDi alone."""


class Firefox:
    """A browser with one tab; `complaints` are the errors and warnings in its console."""

    def __init__(self, line: ClientConnection) -> None:
        self.line, self.number, self.context, self.complaints = line, 0, "", list[str]()
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=["log.entryAdded"])

    def send(self, method: str, **parameters: Any) -> Any:
        """Send a command; return its result."""
        self.number += 1
        self.line.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.line.recv(60))
            if message.get("method") == "log.entryAdded" and message["params"]["level"] in ("error", "warn"):
                self.complaints.append(message["params"]["text"])
            if message.get("id") == self.number:
                assert message["type"] == "success", message
                return message["result"]

    def open(self, address: str, size: tuple[int, int]) -> None:
        """Open a page in a new tab without stored data, and close the old one."""
        user = self.send("browser.createUserContext")["userContext"]
        before = self.context
        self.context = self.send("browsingContext.create", type="tab", userContext=user)["context"]
        if before:
            self.send("browsingContext.close", context=before)
        viewport = {"width": size[0], "height": size[1]}
        self.send("browsingContext.setViewport", context=self.context, viewport=viewport)
        self.send("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        target = {"context": self.context}
        answer = self.send("script.evaluate", expression=f"JSON.stringify({script})", target=target, awaitPromise=False)
        assert answer["type"] == "success", answer
        return json.loads(answer["result"].get("value", "null"))

    def until(self, script: str) -> Any:
        """Wait until an expression is true; return its value."""
        for _ in range(3000):
            if value := self.evaluate(script):
                return value
            time.sleep(0.02)
        pytest.fail(f"it never came to {script}")

    def tap(self, selector: str) -> None:
        """Wait for the first element of a selector, and touch its upper left corner."""
        spot = self.until(
            "((it) => it && (it.scrollIntoView({ block: 'nearest' }),"
            f" (({{ x, y }}) => [x + 9, y + 20])(it.getBoundingClientRect())))(document.querySelector({json.dumps(selector)}))"
        )
        moves = [
            {"type": "pointerMove", "x": round(spot[0]), "y": round(spot[1])},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        finger = {"type": "pointer", "id": "finger", "parameters": {"pointerType": "touch"}, "actions": moves}
        self.send("input.performActions", context=self.context, actions=[finger])


@contextmanager
def touched_firefox(path: str, profile: Path) -> Iterator[Firefox]:
    """Run Firefox with a new profile; at the end, assert that its console has no errors."""
    (profile / "user.js").write_text("".join(f'user_pref("{name}", {value});\n' for name, value in PREFERENCES.items()))
    command = [path, "--headless", "--no-remote", "--remote-debugging-port=0", "--profile", str(profile)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        matches = (re.search(r"WebDriver BiDi listening on (ws://\S+)", line) for line in process.stderr)
        address = next(filter(None, matches))[1]
        with connect(f"{address}/session", max_size=None) as line:
            firefox = Firefox(line)
            yield firefox
            firefox.send("browser.close")
    assert firefox.complaints == []
