// Another origin: a small web server for the page of somebody else, which talks to the chat server from outside.

import { createServer } from "node:http";

/**
 * Serves `files` ({ "/": "<html>…", "/app.js": "…" }) on a free port. The origin is `http://HOSTNAME:PORT`: with
 * 127.0.0.1 it is another origin of the chat server's site, with localhost another site altogether, where a cookie
 * that is `SameSite=lax` does not go along.
 */
export async function host(files, { hostname = "127.0.0.1" } = {}) {
  const server = createServer(({ url }, answer) => {
    const path = new URL(url, "http://host").pathname;
    const text = files[path];
    if (text === undefined) return answer.writeHead(404).end();
    const type = path.endsWith(".js") ? "text/javascript" : "text/html";
    answer.writeHead(200, { "content-type": `${type}; charset=utf-8` }).end(text);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return { url: `http://${hostname}:${server.address().port}`, close: () => server.close() };
}
