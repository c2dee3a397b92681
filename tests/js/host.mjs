// Another origin: a small web server for the page of somebody else, which talks to the chat server from outside.

import { createServer } from "node:http";

/**
 * Serves `files` ({ "/": "<html>…", "/app.js": "…" }) on a free port: another origin than the chat server's, of the same
 * site, so that a cookie which is `SameSite=lax` goes along.
 */
export async function host(files) {
  const server = createServer(({ url }, answer) => {
    const path = new URL(url, "http://host").pathname;
    const text = files[path];
    if (text === undefined) return answer.writeHead(404).end();
    const type = path.endsWith(".js") ? "text/javascript" : "text/html";
    answer.writeHead(200, { "content-type": `${type}; charset=utf-8` }).end(text);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
