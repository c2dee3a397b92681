// The reader against a server over real HTTP.

import assert from "node:assert/strict";
import { test } from "node:test";

import { follow, notices } from "../dist/index.js";
import { StandingClock } from "./clock.mjs";
import { FakeServer, refuse } from "./server.mjs";

const EVENTS = "/sessions/t1/events";
const RECORDS = "/sessions/t1/records";
const SNAPSHOT = "/sessions/t1";

/** A server with some messages, and a reader of it. */
async function scene(t, { messages = 1, prepare, ...options } = {}) {
  const server = await FakeServer.start();
  for (let n = 1; n <= messages; n++) say(server, `m${n}`);
  const clock = new StandingClock();
  prepare?.(server);
  const reader = follow({ thread: "t1", root: server.url, clock, ...options });
  t.after(() => {
    reader.close();
    server.close();
  });
  return { server, clock, reader };
}

function say(server, id, options) {
  return server.append("message.completed", { message_id: id, role: "user", content: `text of ${id}` }, options);
}

/** Waits until the state, or what the test looks at, is so. */
function until(reader, holds, what) {
  return new Promise((resolve, reject) => {
    const end = (how, result) => {
      clearTimeout(tooLong);
      clearInterval(again);
      stop();
      how(result);
    };
    const look = () => holds(reader.state) && end(resolve, reader.state);
    const tooLong = setTimeout(() => end(reject, new Error(`${what} did not come; ${JSON.stringify(reader.state)}`)), 5_000);
    // Not everything that is looked at is part of the state.
    const again = setInterval(look, 5);
    const stop = reader.subscribe(look);
    look();
  });
}

const live = (reader) => until(reader, ({ status }) => status === "live", "live");
const applied = (reader, sequence) => until(reader, (state) => state.applied === sequence, `record ${sequence}`);
const ids = ({ folded }) => [...folded.messages.keys()];

test("a thread is opened by a snapshot, its pages and the stream after it", async (t) => {
  const { server, reader } = await scene(t, { messages: 450 });
  const state = await live(reader);
  assert.equal(state.folded.messages.size, 450);
  assert.deepEqual(server.requests.map(({ path, from }) => [path, from]), [
    [SNAPSHOT, null],
    [RECORDS, null],
    [RECORDS, null],
    [RECORDS, null],
    [EVENTS, server.world.cursor(450)],
  ]);
  assert.deepEqual(
    server.requests.filter(({ path }) => path === RECORDS).map(({ query }) => query.get("through_sequence")),
    ["450", "450", "450"],
  );
  say(server, "m451");
  assert.equal(ids(await applied(reader, 451)).at(-1), "m451");
});

test("I-47 a live stream of sparse numbers is applied once each, also across a cut", async (t) => {
  const { server, reader } = await scene(t);
  await live(reader);
  for (const n of [2, 3, 4, 5, 6, 7, 8, 9]) {
    if ([3, 6, 7, 9].includes(n)) say(server, `m${n}`);
    else server.append(null);
    if (n === 6) {
      await applied(reader, 6);
      const again = server.asked(EVENTS);
      server.cut();
      assert.equal((await again).from, server.world.cursor(6));
    }
  }
  assert.deepEqual(ids(await applied(reader, 9)), ["m1", "m3", "m6", "m7", "m9"]);
});

// Red when an event's watermark becomes the position: the stream goes on after 12 then.
test("I-48 cut after 10 of 12, the stream goes on after 10 and 11 and 12 arrive", async (t) => {
  const { server, reader } = await scene(t, { messages: 9 });
  await live(reader);
  // The server stored three and had written one of them when the line broke.
  for (const n of [10, 11, 12]) server.world.append("message.completed", { message_id: `m${n}`, role: "user", content: "" });
  const [ten] = server.world.frames(9);
  assert.equal(ten.event.watermark, 12);
  server.send("message", ten.event, ten.id);
  await applied(reader, 10);
  const again = server.asked(EVENTS);
  server.cut();
  assert.equal((await again).from, server.world.cursor(10));
  assert.deepEqual(ids(await applied(reader, 12)).slice(-3), ["m10", "m11", "m12"]);
});

// Red when a checkpoint asks for a snapshot or a page.
test("I-49 a hundred checkpoints make no request, and the next stream goes on after the last of them", async (t) => {
  const { server, reader } = await scene(t);
  await live(reader);
  const before = server.requests.length;
  for (let n = 0; n < 100; n++) {
    server.append(null);
    server.checkpoint();
  }
  await applied(reader, 101);
  assert.equal(server.requests.length, before);
  const again = server.asked(EVENTS);
  server.cut();
  assert.equal((await again).from, server.world.cursor(101));
});

test("I-50 frames of an unknown name, comments and unknown types are ignored", async (t) => {
  const { server, reader } = await scene(t);
  await live(reader);
  server.send("weather", { degrees: 3 });
  server.send("comment", "hb");
  server.append("weather.changed", { degrees: 4 });
  say(server, "m3");
  assert.deepEqual(ids(await applied(reader, 3)), ["m1", "m3"]);
  assert.equal(server.count(SNAPSHOT), 1);
});

// Red when an opened connection, or a first event, counts as a success.
test("I-51 ten streams that end before ready: the waits grow to the cap; a ready sets them back", async (t) => {
  let streams = 0;
  const { reader, clock } = await scene(t, {
    prepare(server) {
      server.reachesReady = false;
      server.instead = ({ path }) => {
        if (path !== EVENTS) return;
        streams += 1;
        // Each of them brings an event first.
        if (streams <= 10) say(server, `n${streams}`);
        else server.reachesReady = true;
      };
    },
  });
  await live(reader);
  assert.equal(streams, 11);
  assert.equal(reader.state.applied, 11, "what they brought counts");
  assert.deepEqual(clock.waits, [1, 2, 4, 8, 16, 30, 30, 30, 30, 30].map((seconds) => seconds * 750));
});

test("I-51 after a ready the first wait is short again", async (t) => {
  const { server, reader, clock } = await scene(t);
  for (let round = 0; round < 3; round++) {
    await live(reader);
    const lost = until(reader, ({ status }) => status === "reconnecting", "the cut");
    server.cut();
    await lost;
  }
  await live(reader);
  assert.deepEqual(clock.waits, [750, 750, 750]);
});

// Red when the stream is opened whatever the host says.
test("I-53 a refused history opens no stream and changes nothing; it is loaded again later", async (t) => {
  const answers = [false, false, true];
  const offered = [];
  const { server, reader, clock } = await scene(t, {
    accept: (state) => {
      offered.push([state.applied, reader.state.applied]);
      return answers.shift();
    },
  });
  await live(reader);
  assert.deepEqual(offered, [[1, 0], [1, 0], [1, 0]]);
  assert.equal(server.count(SNAPSHOT), 3);
  assert.equal(server.count(EVENTS), 1);
  assert.deepEqual(clock.waits, [750, 1500]);
});

// Red when it is not asked after the host's answer whether the attempt still runs.
test("I-53 a late answer of an older generation changes nothing", async (t) => {
  let letGo;
  const held = new Promise((resolve) => {
    letGo = resolve;
  });
  let asked = false;
  const { reader, server } = await scene(t, {
    messages: 2,
    // The host's answer to the first history comes when a second one was loaded and the thread has moved on.
    accept: () => {
      if (asked) return true;
      asked = true;
      return held;
    },
  });
  await until(reader, () => asked, "the history");
  reader.reload();
  await live(reader);
  say(server, "m3");
  await applied(reader, 3);
  const state = reader.state;
  const before = server.requests.length;
  letGo(true);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(reader.state, state);
  assert.equal(server.requests.length, before, "and opens no second stream");
});

test("I-53 a snapshot that comes too late, past an abort that nobody heeds, changes nothing", async (t) => {
  let letGo;
  const deaf = async (url, { signal: _, ...rest }) => {
    const answer = await fetch(url, rest);
    if (url.endsWith(SNAPSHOT) && !letGo) {
      await new Promise((resolve) => {
        letGo = resolve;
      });
    }
    return answer;
  };
  const { reader, server, clock } = await scene(t, { fetch: deaf });
  await until(reader, () => letGo, "the first snapshot");
  clock.silence();
  await live(reader);
  const [state, requests] = [reader.state, server.requests.length];
  letGo();
  await new Promise((resolve) => setTimeout(resolve, 50)); // nothing is to happen, so there is nothing to wait for
  assert.deepEqual([reader.state, server.requests.length], [state, requests]);
});

test("45 s of silence end the stream; a heartbeat is no silence", async (t) => {
  const { server, reader, clock } = await scene(t);
  await live(reader);
  const again = server.asked(EVENTS);
  clock.silence();
  assert.equal((await again).from, server.world.cursor(1));
  await live(reader);
  assert.equal(server.count(SNAPSHOT), 1, "the position still holds");
});

test("a server that takes the connection and says nothing is given up after 45 s as well", async (t) => {
  const { server, reader, clock } = await scene(t, { prepare: (server) => (server.instead = () => true) });
  await until(reader, () => server.count(SNAPSHOT) === 1, "the first request");
  server.instead = null;
  clock.silence();
  await live(reader);
});

for (const reason of ["authorization_revoked", "session_deleted"]) {
  test(`close: ${reason} is the end`, async (t) => {
    const { server, reader } = await scene(t);
    await live(reader);
    server.goodbye(reason);
    assert.equal(await reader.done, reason);
    assert.equal(reader.state.status, "stopped");
    assert.equal(server.count(EVENTS), 1);
  });
}

test("close: reauth reconnects at once, but not for ever without a ready", async (t) => {
  const { server, reader, clock } = await scene(t);
  await live(reader);
  const again = server.asked(EVENTS);
  server.goodbye("reauth");
  await again;
  await live(reader);
  assert.deepEqual(clock.waits, []);
  let rounds = 0;
  server.instead = ({ path }, answer) => {
    if (path !== EVENTS || ++rounds > 3) return false;
    answer.writeHead(200, { "content-type": "text/event-stream" }).end('event: close\ndata: {"reason":"reauth"}\n\n');
    return true;
  };
  server.cut();
  await until(reader, () => rounds > 3, "four streams");
  await live(reader);
  assert.deepEqual(clock.waits, [750, 1500, 3000]);
});

for (const reason of ["slow_reader", "server_shutdown", "unavailable", "of tomorrow"]) {
  test(`close: ${reason} reconnects after a wait and loses nothing`, async (t) => {
    const { server, reader, clock } = await scene(t);
    await live(reader);
    const gone = until(reader, ({ status }) => status === "reconnecting", "the end");
    server.goodbye(reason);
    assert.equal((await gone).trouble, reason);
    say(server, "m2");
    await live(reader);
    assert.deepEqual(ids(reader.state), ["m1", "m2"]);
    assert.equal(clock.waits.length, 1);
    assert.equal(server.count(SNAPSHOT), 1);
  });
}

test("a server that asks for more time gets it", async (t) => {
  const { server, reader, clock } = await scene(t);
  await live(reader);
  server.instead = ({ path }, answer) => {
    if (path !== EVENTS) return false;
    server.instead = null;
    return refuse(answer, 503, "service_unavailable", { "retry-after": "7" });
  };
  const gone = until(reader, ({ status }) => status === "reconnecting", "the end");
  server.goodbye("server_shutdown", 9_000);
  await gone;
  await live(reader);
  assert.deepEqual(clock.waits, [9_000, 7_000]);
});

// Red when a reset keeps the position.
test("a position that is refused by a reset frame leads to a new snapshot", async (t) => {
  const { server, reader, clock } = await scene(t, { messages: 3 });
  await live(reader);
  // A backup was restored: two records are gone, and another one is in the third place.
  server.world.records.length = 1;
  server.world.append("message.completed", { message_id: "other", role: "user", content: "" });
  server.world.records[1].record_id = "another";
  const gone = until(reader, ({ status }) => status === "reconnecting", "the cut");
  server.cut();
  await gone;
  await live(reader);
  assert.deepEqual(ids(reader.state), ["m1", "other"]);
  assert.equal(server.count(SNAPSHOT), 2);
  assert.deepEqual(clock.waits, [750], "after the reset there was no need to wait");
});

for (const [status, code] of [[409, "cursor_ahead"], [409, "cursor_mismatch"], [410, "cursor_expired"]]) {
  test(`a position that is refused with ${status} ${code} leads to a new snapshot`, async (t) => {
    const { server, reader } = await scene(t);
    await live(reader);
    server.instead = ({ path }, answer) => {
      if (path !== EVENTS) return false;
      server.instead = null;
      return refuse(answer, status, code);
    };
    const gone = until(reader, ({ status }) => status === "reconnecting", "the cut");
    server.cut();
    await gone;
    await live(reader);
    assert.equal(server.count(SNAPSHOT), 2);
  });
}

test("resets without end are waited between", async (t) => {
  const { server, reader, clock } = await scene(t);
  let resets = 0;
  server.instead = ({ path }, answer) => {
    if (path !== EVENTS || ++resets > 4) return false;
    answer.writeHead(200, { "content-type": "text/event-stream" });
    answer.end('id:\nevent: reset\ndata: {"reason":"cursor_ahead"}\n\n');
    return true;
  };
  await live(reader);
  assert.deepEqual(clock.waits, [750, 1500, 3000], "only the first is answered at once");
});

test("a new epoch on an open stream leads to a new snapshot", async (t) => {
  const { server, reader } = await scene(t);
  await live(reader);
  server.world.begin();
  say(server, "m2");
  await until(reader, ({ folded }) => folded.messages.has("m2"), "m2");
  await live(reader);
  assert.equal(server.count(SNAPSHOT), 2);
  assert.equal(reader.state.epoch, server.world.epoch);
});

for (const [status, code] of [[401, "not_authenticated"], [403, "forbidden"], [404, "session_not_found"], [400, "invalid_request"]]) {
  test(`${status} ${code} is the end, and a person is told`, async (t) => {
    const { server, reader } = await scene(t, {
      prepare: (server) => (server.instead = (_, answer) => refuse(answer, status, code)),
    });
    assert.equal(await reader.done, code);
    assert.equal(server.requests.length, 1);
    assert.deepEqual(notices(reader.state).map(({ code }) => code), ["stopped"]);
    assert.doesNotMatch(notices(reader.state)[0].text, /has stopped/);
  });
}

test("a frame that is not JSON, or a page in place of a stream, is a broken line", async (t) => {
  const { server, reader, clock } = await scene(t);
  await live(reader);
  let gone = until(reader, ({ status }) => status === "reconnecting", "the end");
  server.send("message", "{half");
  await gone;
  await live(reader);
  server.instead = ({ path }, answer) => {
    if (path !== EVENTS) return false;
    server.instead = null;
    answer.writeHead(200, { "content-type": "text/html" }).end("<h1>Please sign in</h1>");
    return true;
  };
  gone = until(reader, ({ status }) => status === "reconnecting", "the end");
  server.cut();
  await gone;
  await live(reader);
  assert.deepEqual(clock.waits, [750, 750, 1500]);
});

test("I-54 reconnecting is said after two seconds without being live, however many tries they hold", async (t) => {
  const { server, reader, clock } = await scene(t);
  await live(reader);
  assert.ok(!clock.runs(2_000));
  const port = server.port;
  server.down();
  await until(reader, () => clock.waits.length >= 3, "three tries");
  assert.deepEqual(notices(reader.state), []);
  clock.overdue();
  assert.deepEqual(notices(reader.state).map(({ code }) => code), ["reconnecting"]);
  await server.listen(port);
  await live(reader);
  assert.deepEqual(notices(reader.state), []);
});

test("I-54 an incomplete history is said with its reason: from the snapshot, a notice, or ready; it stays said", async (t) => {
  const { server, reader } = await scene(t);
  await live(reader);
  assert.deepEqual(notices(reader.state), []);
  server.send("notice", { code: "history_incomplete", incomplete_reasons: ["record_rejected"] });
  await until(reader, ({ history }) => !history.complete, "the notice");
  server.cut();
  await until(reader, ({ status }) => status === "reconnecting", "the cut");
  await live(reader);
  assert.match(notices(reader.state)[0].text, /refused a record/);
  server.world.incompleteReasons = ["execution_lost"];
  server.cut();
  await until(reader, ({ history }) => history.reasons.length === 2, "the second reason");
  reader.reload();
  await until(reader, ({ history }) => history.reasons.length === 1, "what the snapshot says");
  assert.match(notices(reader.state).at(-1).text, /run was cut off/);
});

test("a page that nobody looks at for a minute lets go, and goes on where it was when somebody does", async (t) => {
  let tell;
  const presence = { hidden: () => false, onChange: (call) => ((tell = call), () => {}) };
  const { server, reader, clock } = await scene(t, { presence });
  await live(reader);
  tell("hidden");
  tell("shown");
  assert.ok(!clock.runs(60_000), "a short look away is nothing");
  tell("hidden");
  clock.hidden();
  await until(reader, ({ status }) => status === "reconnecting", "the end");
  say(server, "m2");
  assert.equal(server.count(EVENTS), 1);
  tell("shown");
  await live(reader);
  assert.deepEqual(ids(reader.state), ["m1", "m2"]);
  assert.equal(server.requests.at(-1).from, server.world.cursor(1));
  assert.deepEqual(clock.waits, []);
});

test("when the network comes back the wait is over", async (t) => {
  let tell;
  const presence = { hidden: () => false, onChange: (call) => ((tell = call), () => {}) };
  const { server, reader, clock } = await scene(t, { presence });
  await live(reader);
  clock.isHasty = false;
  const waits = until(reader, () => clock.waits.length === 1, "the wait");
  server.cut();
  await waits;
  tell("online");
  await live(reader);
});

test("a closed reader hears nothing more", async (t) => {
  const { server, reader } = await scene(t);
  await live(reader);
  reader.close();
  assert.equal(await reader.done, "closed");
  const { state } = reader;
  say(server, "m2");
  await new Promise((resolve) => setTimeout(resolve, 50)); // nothing is to happen
  assert.equal(reader.state, state);
  assert.equal(state.status, "stopped");
});

test("headers, root and session go with every request; previews can be left out", async (t) => {
  const server = await FakeServer.start({ root: "/deep/down" });
  const reader = follow({
    thread: "t1",
    root: `${server.url}/deep/down`,
    headers: () => ({ authorization: "Bearer b" }),
    previews: false,
    session: "a b",
  });
  t.after(() => {
    reader.close();
    server.close();
  });
  await live(reader);
  assert.deepEqual(server.requests.map(({ headers }) => headers.authorization), ["Bearer b", "Bearer b", "Bearer b"]);
  assert.deepEqual(server.requests.map(({ query }) => query.get("session_id")), ["a b", "a b", "a b"]);
  assert.equal(server.requests.at(-1).query.get("previews"), "0");
});
