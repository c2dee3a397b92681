"""The Python Socket.IO client as a process, with the JSON lines of tests/js/client.mjs (described there).

Where it differs: "upgrade" is not told, since this client changes over before it says that it is connected; and a
reconnect that the server refuses is tried again.
"""

import asyncio
import base64
import json
import sys
import time

import socketio

begun = time.monotonic()
connections: dict[str, "Connection"] = {}
tasks: set[asyncio.Task] = set()


def report(id, kind, **more):
    line = {"id": id, "at": round((time.monotonic() - begun) * 1000), "kind": kind, **more}
    print(json.dumps(line, default=show_binary), flush=True)


def show_binary(value):
    return {"base64": base64.b64encode(value).decode()}


def read_binary(value):
    if isinstance(value, list):
        return [read_binary(inner) for inner in value]
    if isinstance(value, dict):
        if list(value) == ["base64"]:
            return base64.b64decode(value["base64"])
        return {key: read_binary(inner) for key, inner in value.items()}
    return value


def in_background(coroutine):
    # The set keeps the task alive: asyncio itself holds it only weakly.
    task = asyncio.create_task(coroutine)
    tasks.add(task)
    task.add_done_callback(tasks.discard)


class Connection:
    def __init__(self, command):
        self.id = command["id"]
        self.auth = dict(command.get("auth") or {})
        self.acks: dict[int, tuple[str, int]] = {}
        self.last_ack = 0
        self.client = socketio.AsyncClient(reconnection=command.get("reconnection", True))
        # By overriding, since its catch-all handlers do not tell whether the server wants an answer.
        self.client._handle_event = self.on_event
        self.client.on("connect", self.on_connect)
        self.client.on("connect_error", self.on_connect_error)
        self.client.on("disconnect", self.on_disconnect)

    async def connect(self, command):
        try:
            await self.client.connect(
                command["url"],
                # Functions, for each reconnect: the auth is sent as it is by then, and the client eats the cookie of a
                # plain dict the first time.
                headers=lambda: {"Cookie": command["cookie"]} if command.get("cookie") else {},
                auth=lambda: self.auth,
                transports=command.get("transports"),
                socketio_path=command.get("path", "/ws/socket.io"),
                wait=False,
            )
        except socketio.exceptions.ConnectionError:
            pass  # on_connect_error has told it

    async def on_connect(self):
        report(self.id, "connect", sid=self.client.sid, transport=self.client.transport())

    async def on_connect_error(self, data=None):
        message = data.get("message") if isinstance(data, dict) else str(data)
        reconnecting = self.client._reconnect_task
        report(self.id, "connect_error", message=message, active=bool(reconnecting and not reconnecting.done()))

    async def on_disconnect(self, reason=None):
        report(self.id, "disconnect", reason=reason)

    async def on_event(self, namespace, packet_id, data):
        event, *args = data
        ack = None
        if packet_id is not None:
            self.last_ack += 1
            ack = self.last_ack
            self.acks[ack] = (namespace, packet_id)
        report(self.id, "event", event=event, args=args, ack=ack)

    async def connected(self):
        """The client refuses what is said before CONNECT is answered; the official one keeps it until then."""
        while not self.client.namespaces:
            await asyncio.sleep(0.01)

    async def answer(self, ack, value):
        namespace, packet_id = self.acks.pop(ack)
        packet = self.client.packet_class(
            socketio.packet.ACK, namespace=namespace, id=packet_id, data=[read_binary(value)]
        )
        await self.client._send_packet(packet)

    async def kill_transport(self):
        engine = self.client.eio
        if engine.current_transport == "websocket":
            engine.ws._response.connection.transport.abort()
        else:
            # Tears up the request that waits.
            await engine.http.close()


async def obey(command):
    match command["op"]:
        case "connect":
            connection = connections[command["id"]] = Connection(command)
            in_background(connection.connect(command))
        case "emit":
            connection = connections[command["id"]]
            args = tuple(read_binary(command.get("args") or []))
            async with asyncio.timeout(20):
                await connection.connected()
            await connection.client.emit(command["event"], args)
        case "auth":
            connections[command["id"]].auth.update(command["auth"])
        case "ack":
            await connections[command["id"]].answer(command["ack"], command["value"])
        case "kill-transport":
            await connections[command["id"]].kill_transport()
        case "close":
            await connections[command["id"]].client.disconnect()
        case other:
            raise ValueError(f"unknown op {other}")


async def main():
    stdin = asyncio.StreamReader(limit=16 * 1024 * 1024)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdin), sys.stdin)
    while line := await stdin.readline():
        if not line.strip():
            continue
        command = {}
        try:
            command = json.loads(line)
            if command.get("op") == "quit":
                break
            await obey(command)
        except Exception as error:
            report(command.get("id"), "bad_command", message=f"{type(error).__name__}: {error}")
    for connection in connections.values():
        await connection.client.shutdown()


asyncio.run(main())
