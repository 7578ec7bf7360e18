"""A browser for tests: chromedriver and headless Chromium, driven over the plain WebDriver protocol."""

import base64
import http.client
import json
import os
import signal
import subprocess
import time

# The time limit of every wait; generous, so that a busy machine does not fail a test.
LIMIT = 60

KEYS = {
    "Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "Up": "\ue013", "Down": "\ue015", "Left": "\ue012",
    "Right": "\ue014", "Home": "\ue011", "End": "\ue010", "PageDown": "\ue00f", "PageUp": "\ue00e", "Control": "\ue009",
    "Backspace": "\ue003",
}


class Failure(Exception):
    """A condition that a test expects does not hold."""


def wait_until(condition, what, limit=LIMIT):
    """Polls until the condition returns something true, and returns it."""
    end = time.monotonic() + limit
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {limit} s")
        time.sleep(0.02)


def end_group(process):
    """Ends a process and its children."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(10)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    process.wait()


class Browser:
    """One browser with one page."""

    def __init__(self, directory):
        log = open(os.path.join(directory, "chromedriver.log"), "wb")
        port_file = os.path.join(directory, "chromedriver.log")
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        self.session = None
        try:
            self.port = wait_until(lambda: self._port(port_file), "the port of chromedriver")
            arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                         "--disable-background-networking", "--window-size=1280,800", "--lang=en-US",
                         f"--user-data-dir={os.path.join(directory, 'profile')}"]
            if os.geteuid() == 0:
                arguments.append("--no-sandbox")
            wanted = {
                "goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"},
                "unhandledPromptBehavior": "ignore", "timeouts": {"script": LIMIT * 1000, "pageLoad": LIMIT * 1000},
            }
            self.session = self.request("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        except BaseException:
            self.close()
            raise

    @staticmethod
    def _port(path):
        with open(path, encoding="utf-8", errors="replace") as log:
            for line in log:
                if "started successfully on port" in line:
                    return int(line.rsplit(" ", 1)[1].strip(" .\n"))
        return None

    def request(self, method, path, body=None):
        """Sends a command and returns its value."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2 * LIMIT)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and value.get("error"):
            raise Failure(f"{value['error']}: {value['message'].splitlines()[0]}")
        return value

    def command(self, method, path, body=None):
        return self.request(method, f"/session/{self.session}{path}", body)

    def close(self):
        try:
            if self.session:
                self.command("DELETE", "")
        except (Failure, OSError):
            pass
        end_group(self.driver)

    def open(self, url):
        self.command("POST", "/url", {"url": url})

    def js(self, script, *arguments):
        """Runs a function's body and returns its result; promises are awaited."""
        return self.command("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def until(self, expression, what, *arguments):
        """Waits until a JavaScript expression is true, and returns its value."""
        return wait_until(lambda: self.js(f"return {expression}", *arguments), what)

    def keys(self, *names):
        """Types keys, by name, or text, into the focused element. `Control+Home` holds a key down."""
        actions = []
        for name in names:
            parts = name.split("+") if "+" in name and len(name) > 1 else [name]
            codes = [code for part in parts for code in ([KEYS[part]] if part in KEYS else list(part))]
            if len(parts) > 1:
                actions += [{"type": "keyDown", "value": code} for code in codes]
                actions += [{"type": "keyUp", "value": code} for code in reversed(codes)]
            else:
                for code in codes:
                    actions += [{"type": "keyDown", "value": code}, {"type": "keyUp", "value": code}]
        self.command("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def click(self, selector):
        """Clicks the middle of the first visible element with the pointer."""
        box = self.until(
            "(() => { const e = [...document.querySelectorAll(arguments[0])].find((x) => x.checkVisibility());"
            "if (!e) return null; e.scrollIntoView({block: 'nearest', inline: 'nearest'});"
            "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()",
            f"{selector} is visible", selector)
        move = {"type": "pointerMove", "x": round(box[0]), "y": round(box[1])}
        pointer = [move, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.command("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": pointer}]})

    def devtools(self, name, **parameters):
        return self.command("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def resize(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                      mobile=False)
        self.until("innerWidth === arguments[0]", f"the window is {width} wide", width)

    def scheme(self, name):
        """Selects light or dark."""
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def errors(self):
        """The errors in the console since the last call."""
        log = self.command("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in log if entry["level"] == "SEVERE"]

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.command("GET", "/screenshot")))
