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
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(serving.url).port), "127.0.0.1");
    let heard = "";
    socket.on("data", (chunk) => (heard += chunk.toString()));
    socket.on("error", reject);
    socket.on("close", () => resolve(heard));
    socket.write(bytes);
  });
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
