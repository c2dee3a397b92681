// The official Socket.IO client as a process: commands come as JSON lines on stdin, what happens goes out as JSON lines
// on stdout, in the order it happened. For tests that want to know what the real client sees, not what ours would.
//
// in   {"op":"connect","id":"a","url":"http://127.0.0.1:8000","auth":{…},"transports":["websocket"],
//       "cookie":"access_token=…","reconnection":true,"path":"/ws/socket.io"}
//      {"op":"emit","id":"a","event":"client_message","args":[{…}]}
//      {"op":"auth","id":"a","auth":{"threadId":"…"}}   keys that the next connect sends differently
//      {"op":"ack","id":"a","ack":1,"value":{…}}        answers an event that came with that number under "ack"
//      {"op":"kill-transport","id":"a"}                 the line breaks without a goodbye; the client reconnects by itself
//      {"op":"close","id":"a"}
//      {"op":"quit"}                                    so does the end of stdin
// out  {"id":"a","at":1234,"kind":"connect","sid":"…","transport":"polling"}
//      {"id":"a","at":1234,"kind":"upgrade","transport":"websocket"}
//      {"id":"a","at":1234,"kind":"event","event":"ask","args":[{…}],"ack":1}      ack is null where none is wanted
//      {"id":"a","at":1234,"kind":"connect_error","message":"…","active":false}    active: it tries again by itself
//      {"id":"a","at":1234,"kind":"disconnect","reason":"transport close"}
//      {"id":null,"at":1234,"kind":"bad_command","message":"…"}
// `at` is milliseconds since this process started. Binary arguments are shown as {"base64":"…"} both ways.

import { Agent } from "node:http";
import { createInterface } from "node:readline";
import { io } from "socket.io-client";

const sockets = new Map();

const report = (id, kind, more = {}) =>
  process.stdout.write(JSON.stringify({ id, at: Math.round(performance.now()), kind, ...more }) + "\n");

function connect({ id, url, auth = {}, transports, cookie, reconnection = true, path = "/ws/socket.io" }) {
  // Knows the open requests of polling, so that they can be torn up.
  const agent = new Agent();
  const socket = io(url, {
    // A function, as the pages have it: each reconnect sends the object as it is by then.
    auth: (send) => send(entry.auth),
    path,
    transports: transports ?? ["polling", "websocket"],
    reconnection,
    // Not withCredentials, as a page would: node's cookie jar would throw the given cookie away.
    extraHeaders: cookie ? { Cookie: cookie } : {},
    agent,
    // Its own line for each id, or two clients of one process would share one.
    forceNew: true,
  });
  const entry = { socket, agent, auth: { ...auth }, acks: new Map(), lastAck: 0 };
  sockets.set(id, entry);

  socket.on("connect", () => {
    report(id, "connect", { sid: socket.id, transport: socket.io.engine.transport.name });
  });
  // The change to websocket may be done before CONNECT is answered: then "upgrade" comes before "connect".
  socket.io.on("open", () =>
    socket.io.engine.once("upgrade", (transport) => report(id, "upgrade", { transport: transport.name })),
  );
  socket.on("disconnect", (reason) => report(id, "disconnect", { reason }));
  socket.on("connect_error", (error) => report(id, "connect_error", { message: error.message, active: socket.active }));
  socket.onAny((event, ...args) => {
    // A callback at the end means that the server waits for an answer.
    let ack = null;
    if (typeof args.at(-1) === "function") {
      ack = ++entry.lastAck;
      entry.acks.set(ack, args.pop());
    }
    report(id, "event", { event, args: args.map(showBinary), ack });
  });
}

function killTransport({ socket, agent }) {
  const { transport } = socket.io.engine;
  // An upgraded TCP socket has left the agent.
  if (transport.name === "websocket") return transport.ws._socket.destroy();
  // Else the client would post a close packet over a new line.
  transport.readyState = "closed";
  agent.destroy();
}

// Binary has no place in JSON.
function showBinary(value) {
  if (Buffer.isBuffer(value)) return { base64: value.toString("base64") };
  if (Array.isArray(value)) return value.map(showBinary);
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, showBinary(inner)]));
  return value;
}

function readBinary(value) {
  if (Array.isArray(value)) return value.map(readBinary);
  if (!value || typeof value !== "object") return value;
  if (typeof value.base64 === "string" && Object.keys(value).length === 1) return Buffer.from(value.base64, "base64");
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, readBinary(inner)]));
}

function obey(command) {
  if (command.op === "connect") return connect(command);
  if (command.op === "quit") return quit();
  const entry = sockets.get(command.id);
  if (!entry) throw new Error(`no connection with the id ${command.id}`);
  switch (command.op) {
    case "emit":
      return void entry.socket.emit(command.event, ...(command.args ?? []).map(readBinary));
    case "auth":
      return void Object.assign(entry.auth, command.auth);
    case "ack": {
      const answer = entry.acks.get(command.ack);
      if (!answer) throw new Error(`nothing waits for ack ${command.ack}`);
      entry.acks.delete(command.ack);
      return answer(readBinary(command.value));
    }
    case "kill-transport":
      return killTransport(entry);
    case "close":
      return void entry.socket.disconnect();
    default:
      throw new Error(`unknown op ${command.op}`);
  }
}

// The process ends by itself once the goodbyes are sent; a server that does not take them is not waited for.
function quit() {
  for (const { socket } of sockets.values()) socket.disconnect();
  process.stdin.destroy();
  setTimeout(() => process.exit(0), 1000).unref();
}

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  if (!line.trim()) return;
  let command = {};
  try {
    command = JSON.parse(line);
    obey(command);
  } catch (error) {
    report(command.id ?? null, "bad_command", { message: error.message });
  }
});
lines.on("close", quit);
