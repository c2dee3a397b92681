"""wire_check.py BASE_URL [--expected DIR]

A second client holds the server against tests/js/wire/expected: python-socketio, over websocket and over polling,
opens a page, says `hi`, loses its line and comes back. Exit status 0 when all is as recorded.
"""

import argparse
import asyncio
import json
import re
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path

import aiohttp
import socketio

TOKEN = re.compile(r"<((?:message|step|thread|session|user-id|element|action|file|id)-\d+|user-a)>")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
ANSWER_WITHIN = 8


class Difference(Exception):
    pass


class Bindings:
    """What each placeholder of the expectations stands for in this run; one placeholder, one value, and back."""

    def __init__(self):
        self.values = {}

    def bind(self, token, value, path):
        if self.values.setdefault(token, value) != value:
            raise Difference(f"{path}: {token} was {self.values[token]!r}, is {value!r}")
        others = [other for other, known in self.values.items() if known == value and other != token]
        if others:
            raise Difference(f"{path}: {value!r} is {others[0]} already, expected another value for {token}")

    def match(self, want, have, path=""):
        if isinstance(want, dict) and isinstance(have, dict):
            for key in sorted(set(want) | set(have)):
                if key not in have:
                    raise Difference(f"{path}.{key}: expected {want[key]!r}, is absent")
                if key not in want:
                    raise Difference(f"{path}.{key}: expected absent, is {have[key]!r}")
                self.match(want[key], have[key], f"{path}.{key}")
        elif isinstance(want, list) and isinstance(have, list):
            if len(want) != len(have):
                raise Difference(f"{path}: expected {len(want)} items, are {len(have)}")
            for index, pair in enumerate(zip(want, have)):
                self.match(*pair, f"{path}.{index}")
        elif want == "<time>":
            if not isinstance(have, str) or not TIME.fullmatch(have):
                raise Difference(f"{path}: expected a UTC time, is {have!r}")
        elif isinstance(want, str) and TOKEN.fullmatch(want):
            self.bind(want, have, path)
        elif want != have or isinstance(want, bool) != isinstance(have, bool):
            raise Difference(f"{path}: expected {want!r}, is {have!r}")


class Page:
    def __init__(self, base, transport, cookie, user):
        self.base, self.transport, self.cookie, self.user = base, transport, cookie, user
        self.auth = {"clientType": "webapp", "sessionId": str(uuid.uuid4()), "threadId": "", "userEnv": "{}", "chatProfile": ""}
        self.seen, self.news = [], asyncio.Event()

    async def connect(self):
        self.socket = socketio.AsyncClient(reconnection=False)

        @self.socket.on("*")
        async def anything(event, *args):
            if event == "first_interaction":
                self.auth["threadId"] = args[0]["thread_id"]
            self.seen.append({"event": event, "args": list(args)})
            self.news.set()

        await self.socket.connect(
            self.base, auth=self.auth, headers={"Cookie": self.cookie}, transports=[self.transport], socketio_path="/ws/socket.io/"
        )
        await self.socket.emit("connection_successful")
        await self.socket.emit("fetch_favorites")

    async def say(self, text):
        message = {
            "threadId": "", "id": str(uuid.uuid4()), "name": self.user, "type": "user_message", "output": text,
            "createdAt": datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "metadata": {"location": f"{self.base}/"},
        }  # fmt: skip
        await self.socket.emit("client_message", {"message": message, "fileReferences": []})
        return message["id"]

    async def events(self, count):
        """The next `count` events; more, if more come at once."""
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                while len(self.seen) < count:
                    self.news.clear()
                    await self.news.wait()
        except TimeoutError:
            pass
        await asyncio.sleep(0.3)
        taken, self.seen = self.seen, []
        return taken

    async def drop(self):
        """The line breaks: no Socket.IO DISCONNECT."""
        await self.socket.eio.disconnect(abort=True)
        await self.close()

    async def close(self):
        await self.socket.disconnect()
        # An aborted client leaves its HTTP session open.
        if (http := self.socket.eio.http) and not http.closed:
            await http.close()
        await asyncio.sleep(0.3)


def section(expected, name, title):
    """The server's events after the `do` that starts with `title`, without the client's own `connect`."""
    entries, inside = [], False
    for entry in json.loads((expected / f"{name}.json").read_text()):
        if "do" in entry:
            inside = entry["do"].startswith(title)
        elif inside and "event" in entry and entry["event"] != "connect":
            entries.append({"event": entry["event"], "args": entry["args"]})
    assert entries, f"{name} has no section {title!r}"
    return entries


def late_last(events):
    """`first_interaction` and `set_favorites` may come late (see normalise.mjs): they are looked at last."""
    free = ("set_favorites", "first_interaction")
    return [e for e in events if e["event"] not in free] + sorted((e for e in events if e["event"] in free), key=lambda e: free.index(e["event"]))


def check(what, want, have, bindings):
    for index, (expected, got) in enumerate(zip(late_last(want), late_last(have))):
        bindings.match(expected, got, f"{what}, event {index} ({expected['event']})")
    if len(want) != len(have):
        names = [e["event"] for e in late_last(have)]
        raise Difference(f"{what}: expected {[e['event'] for e in late_last(want)]}, came {names}")


async def run(base, transport, expected):
    user = f"py-{uuid.uuid4().hex[:8]}"
    async with aiohttp.ClientSession() as http:
        async with http.post(f"{base}/login", data={"username": user, "password": "pw"}) as answer:
            assert answer.status == 200, f"login: {answer.status}"
            cookie = "; ".join(f"{c.key}={c.value}" for c in answer.cookies.values())
    page = Page(base, transport, cookie, user)
    try:
        await visit(page, expected)
    finally:
        await page.close()


async def visit(page, expected):
    want, bindings = section(expected, "fresh", "a opens a page"), Bindings()
    await page.connect()
    check("fresh session", want, await page.events(len(want)), bindings)
    thread = bindings.values["<thread-1>"]

    want, bindings = section(expected, "echo", "a says hi"), Bindings()
    bindings.values["<message-1>"] = await page.say("hi")
    check("turn", want, await page.events(len(want)), bindings)
    if bindings.values["<thread-1>"] != thread:
        raise Difference(f"turn: in thread {bindings.values['<thread-1>']}, greeted in {thread}")

    want = section(expected, "reconnect-after-turn", "a comes back")
    await asyncio.sleep(0.7)
    await page.drop()
    await page.connect()
    check("reconnect", want, await page.events(len(want)), Bindings())


async def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("base")
    arguments.add_argument("--expected", type=Path, default=Path(__file__).parent.parent / "js/wire/expected")
    given = arguments.parse_args()
    failed = 0
    for transport in ("websocket", "polling"):
        try:
            await run(given.base.rstrip("/"), transport, given.expected)
            print(f"ok       {transport}")
        except Difference as difference:
            failed += 1
            print(f"differs  {transport}: {difference}")
    print(f"\n{2 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
