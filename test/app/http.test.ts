// The HTTP server itself (spec 6.2, 7.4): routes, caps, slow clients, a taken port, a clean close.
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { serve, type Route, type ServeOptions, type Serving } from "../../app/http.ts";
import { Failure } from "../../policies/failure.ts";

const echo: Route = {
  method: "POST",
  path: "/echo/:word",
  answer: ({ names, body, query }) => ({
    status: 200,
    body: `${names["word"]} ${query.get("q") ?? ""} ${body.toString()}`,
  }),
};

const refused = { status: 403, body: "no" };

async function open(options: Partial<ServeOptions> = {}): Promise<Serving> {
  const serving = await serve({
    port: 0,
    host: "127.0.0.1",
    routes: [echo],
    problem: (problem) => ({ status: problem.status, body: `problem ${problem.status}` }),
    ...options,
  });
  onTestFinished(() => serving.close());
  return serving;
}

/** What a client that writes these bytes and no more is told before the connection ends. */
function say(serving: Serving, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(serving.url).port), "127.0.0.1");
    let heard = "";
    socket.on("data", (chunk) => (heard += chunk.toString()));
    // A reset is one way to end it.
    socket.on("error", () => {});
    socket.on("close", () => resolve(heard));
    socket.write(bytes);
  });
}

/** Asks again until there is an answer. */
async function until<T>(ask: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== null) return answer;
  }
}

test("a route gets its names, query and body", async () => {
  const { url } = await open();
  const answer = await fetch(`${url}/echo/a?q=b`, { method: "POST", body: "c" });
  expect(await answer.text()).toBe("a b c");
});

test.each([
  ["GET", "/echo/a", 405],
  ["POST", "/echo/", 404],
  ["POST", "/echo/a/b", 404],
  ["PUT", "/echo/a", 405],
])("%s %s is answered with %i", async (method, path, status) => {
  const { url } = await open();
  expect((await fetch(url + path, { method })).status).toBe(status);
});

test("a guard answers before a body is read", async () => {
  const serving = await open({ guard: () => ({ status: 403, body: "no" }) });
  const heard = await say(serving, "POST /echo/a HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n");
  expect(heard).toMatch(/^HTTP\/1.1 403 /);
});

test("a body over the cap is refused, whether its length is told or not", async () => {
  const { url } = await open({ bodyBytesLimit: 100 });
  const body = "x".repeat(300);
  const told = await fetch(`${url}/echo/a`, { method: "POST", body });
  const stream = new Blob([body]).stream();
  const untold = await fetch(`${url}/echo/a`, { method: "POST", body: stream, duplex: "half" });
  expect([told.status, untold.status]).toEqual([413, 413]);
});

test("a body that is told to be too long is refused with none of it read", async () => {
  const serving = await open({ bodyBytesLimit: 100 });
  const head = "POST /echo/a HTTP/1.1\r\nhost: a\r\ncontent-length: 101\r\n\r\n";
  expect(await say(serving, head)).toMatch(/^HTTP\/1.1 413 /);
});

test("who asks before sending a body is told to go on only where it may", async () => {
  const careful: Route = { ...echo, access: ({ header }) => (header("key") ? null : refused) };
  const serving = await open({ routes: [careful] });
  const head = "POST /echo/a HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\nexpect: 100-continue\r\n";
  expect(await say(serving, `${head}\r\n`)).toMatch(/^HTTP\/1.1 403 /);
  const heard = await say(serving, `${head}connection: close\r\nkey: 1\r\n\r\nx`);
  expect(heard).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 /);
});

test("a request to read brings no body", async () => {
  const page: Route = { method: "GET", path: "/", answer: () => ({ status: 200, body: "page" }) };
  const serving = await open({ routes: [page] });
  const head = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n";
  expect(await say(serving, `${head}\r\n`)).toMatch(/^HTTP\/1.1 200 /);
  expect(await say(serving, `${head}content-length: 1\r\n\r\nx`)).toMatch(/^HTTP\/1.1 413 /);
});

test("a route may have its own access, cap, time and words for a body", async () => {
  const strict: Route = {
    ...echo,
    access: () => null,
    bodyBytesLimit: 3,
    bodyMsLimit: 50,
    refuse: ({ status }) => ({ status, body: `own ${status}` }),
  };
  const serving = await open({ routes: [strict], guard: () => refused });
  const head = "POST /echo/a HTTP/1.1\r\nhost: a\r\nconnection: close\r\n";
  expect(await say(serving, `${head}content-length: 3\r\n\r\nabc`)).toMatch(/ 200 [^]*a {2}abc$/);
  expect(await say(serving, `${head}content-length: 4\r\n\r\n`)).toMatch(/ 413 [^]*own 413$/);
  expect(await say(serving, `${head}content-length: 3\r\n\r\n`)).toMatch(/ 408 [^]*own 408$/);
});

test("a body that comes byte by byte comes whole", async () => {
  const { url } = await open();
  const word = "0123456789".repeat(20);
  const bytes = ReadableStream.from(Array.from(word, (letter) => Buffer.from(letter)));
  const answer = await fetch(`${url}/echo/a`, { method: "POST", body: bytes, duplex: "half" });
  expect(await answer.text()).toBe(`a  ${word}`);
});

test("where bodies weigh too much together the largest gives way, not the next", async () => {
  const serving = await open({ roomBytesLimit: 1_000 });
  const head =
    "POST /echo/a HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 900\r\n\r\n";
  const greedy = say(serving, head + "x".repeat(800));
  const answer = await until(async () => {
    const all = ["a", "b"].map((body) =>
      fetch(`${serving.url}/echo/a`, { method: "POST", body: body.repeat(300) }),
    );
    const statuses = await Promise.all(all.map(async (one) => (await one).status));
    expect(statuses).toEqual([200, 200]);
    return Promise.race([greedy, Promise.resolve(null)]);
  });
  expect(answer).toMatch(/^HTTP\/1.1 503 /);
});

test("a body weighs until it is answered", async () => {
  const held = Promise.withResolvers<void>();
  const slow: Route = {
    ...echo,
    answer: async () => {
      await held.promise;
      return { status: 200, body: "" };
    },
  };
  const { url } = await open({ roomBytesLimit: 1_000, routes: [slow] });
  const all = [1, 2, 3].map(() =>
    fetch(`${url}/echo/a`, { method: "POST", body: "x".repeat(400) }),
  );
  expect((await Promise.race(all)).status).toBe(503);
  held.resolve();
  const statuses = await Promise.all(all.map(async (one) => (await one).status));
  expect(statuses.sort((one, other) => one - other)).toEqual([200, 200, 503]);
  expect((await fetch(`${url}/echo/a`, { method: "POST", body: "x".repeat(900) })).status).toBe(
    200,
  );
});

test("connections that say nothing whole do not keep others out", async () => {
  const serving = await open({ connectionsLimit: 10 });
  const starts = Array.from({ length: 30 }, () =>
    say(serving, "POST /echo/a HTTP/1.1\r\nhost: a\r\n"),
  );
  const answer = await fetch(`${serving.url}/echo/a`, { method: "POST", body: "b" });
  expect(await answer.text()).toBe("a  b");
  // The first twenty had to go long before their time was up.
  expect(await Promise.all(starts.slice(0, 20))).toEqual(Array.from({ length: 20 }, () => ""));
});

test("who is waiting for an answer is never ended for a newcomer", async () => {
  const held = Promise.withResolvers<void>();
  const slow: Route = {
    ...echo,
    answer: async () => {
      await held.promise;
      return { status: 200, body: "late" };
    },
  };
  const serving = await open({ connectionsLimit: 3, routes: [slow] });
  const first = fetch(`${serving.url}/echo/a`, { method: "POST", body: "b" });
  for (const _ of Array(10)) void say(serving, "POST /echo/a HTTP/1.1\r\n");
  await say(serving, "POST /echo/a HTTP/1.1\r\n\r\n");
  held.resolve();
  expect(await (await first).text()).toBe("late");
});

test("a body of exactly the cap is taken", async () => {
  const { url } = await open({ bodyBytesLimit: 100 });
  const answer = await fetch(`${url}/echo/a`, { method: "POST", body: "x".repeat(100) });
  expect(answer.status).toBe(200);
});

test.each([
  ["headers", "GET /echo/a HTTP/1.1\r\nhost: a\r\n"],
  ["a body", "POST /echo/a HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nabc"],
])("a client that never finishes %s is sent away", async (_, bytes) => {
  const serving = await open({ requestMsLimit: 100 });
  expect(await say(serving, bytes)).toMatch(/^HTTP\/1.1 408 /);
});

test("a route that throws is a problem of ours, and the next request is answered", async () => {
  const error = new Error("a bug");
  const seen: unknown[] = [];
  const broken: Route = { method: "GET", path: "/", answer: () => Promise.reject(error) };
  const { url } = await open({
    routes: [broken, echo],
    problem: (problem) => {
      if (problem.status === 500) seen.push(problem.error);
      return { status: problem.status, body: "" };
    },
  });
  expect((await fetch(url)).status).toBe(500);
  expect(seen).toEqual([error]);
  expect((await fetch(`${url}/echo/a`, { method: "POST" })).status).toBe(200);
});

test("a port that is taken is a failure with that name", async () => {
  const { url } = await open();
  const taken = open({ port: Number(new URL(url).port) });
  await expect(taken).rejects.toBeInstanceOf(Failure);
  await expect(taken).rejects.toMatchObject({ code: "port-in-use", retry: "never" });
});

test("closing ends feeds and frees the port", async () => {
  let stopped = 0;
  const feed: Route = {
    method: "GET",
    path: "/",
    answer: () => ({
      status: 200,
      body: (send) => {
        send("hello");
        return () => (stopped += 1);
      },
    }),
  };
  const serving = await open({ routes: [feed] });
  const answer = await fetch(serving.url);
  await serving.close();
  expect(await answer.text()).toBe("hello");
  expect(stopped).toBe(1);
  await open({ port: Number(new URL(serving.url).port) });
});

test("listening everywhere, its address is one that leads there from this machine", async () => {
  const { url } = await open({ host: "0.0.0.0" });
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect((await fetch(`${url}/nowhere`)).status).toBe(404);
});
