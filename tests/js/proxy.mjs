// A line between page and server that can be cut: a TCP proxy on loopback. Cut, it destroys every connection without a
// goodbye and refuses new ones; mended, it listens again on the same port.

import { once } from "node:events";
import { connect, createServer } from "node:net";

export async function breakableLine(server) {
  const { hostname, port } = new URL(server);
  const sockets = new Set();
  const keep = (socket, other) => {
    sockets.add(socket);
    socket.on("error", () => other.destroy()).on("close", () => {
      sockets.delete(socket);
      other.destroy();
    });
  };

  let listener;
  async function listen(at) {
    listener = createServer((page) => {
      const there = connect(Number(port), hostname);
      keep(page, there);
      keep(there, page);
      page.pipe(there).pipe(page);
    }).listen(at, "127.0.0.1");
    await once(listener, "listening");
  }

  await listen(0);
  const mine = listener.address().port;
  return {
    url: `http://127.0.0.1:${mine}`,
    /** Cuts the line now and mends it after so many milliseconds. */
    async cut(milliseconds) {
      listener.close();
      for (const socket of sockets) socket.resetAndDestroy();
      // The length of the outage is what is tested, so this time is really waited for.
      await new Promise((resolve) => setTimeout(resolve, milliseconds));
      await listen(mine);
    },
    close() {
      listener.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
