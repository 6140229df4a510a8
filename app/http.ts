// The one HTTP server (spec 6.2, 7.4): routes, a cap on bodies, an end for slow clients, a clean
// close. Knows nothing of what it serves: the guard says who may see it, the caller how a problem
// looks.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Failure } from "../policies/failure.ts";

export interface HttpRequest {
  /** HEAD is answered like GET, without the body. */
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly query: URLSearchParams;
  /** A header by its lower-case name; the values of a repeated one are joined. */
  readonly header: (name: string) => string | undefined;
}

/** What fits a route: its `:names` by their values, and the body as it came. */
export interface Matched extends HttpRequest {
  readonly names: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Begins to send on an open connection; what it gives back ends it. */
export type Feed = (send: (text: string) => void) => () => void;

export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer | Feed;
}

export interface Route {
  readonly method: "GET" | "POST";
  /** Segments, where `:name` takes any one: `/m/:id`. */
  readonly path: string;
  readonly answer: (request: Matched) => HttpAnswer | Promise<HttpAnswer>;
}

/** What the server itself has to say. The error of a 500 is for the log alone. */
export type HttpProblem =
  | { readonly status: 404 | 408 | 413 }
  | { readonly status: 405; readonly allow: string }
  | { readonly status: 500; readonly error: unknown };

export interface ServeOptions {
  /** 0 takes a free one. */
  readonly port: number;
  readonly host: string;
  readonly routes: readonly Route[];
  /** Asked before a route is looked up and before a body is read; an answer ends it. */
  readonly guard?: (request: HttpRequest) => HttpAnswer | null;
  readonly problem: (problem: HttpProblem) => HttpAnswer;
  /** Set on every answer; an answer's own win. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly bodyBytesLimit?: number;
  /** How long a client may take to send its headers, and its whole request. */
  readonly requestMsLimit?: number;
}

export interface Serving {
  readonly url: string;
  /** Ends feeds, gives running answers a second, and resolves when nothing is open. */
  close(): Promise<void>;
}

const bodyBytesDefault = 1024 * 1024;
const requestMsDefault = 15_000;
const closeGraceMs = 1_000;
const connectionsLimit = 256;
/** A feed's reader that lets this much pile up is gone. */
const unreadBytesLimit = 256 * 1024;

/** Throws Failure `port-in-use`, or `cannot-listen` for any other reason. */
export async function serve(options: ServeOptions): Promise<Serving> {
  const feeds = new Set<() => void>();
  const requestMs = options.requestMsLimit ?? requestMsDefault;
  const server = createServer(
    {
      headersTimeout: requestMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.ceil(requestMs / 10),
    },
    (request, response) => void answerOne(options, { request, response, feeds }),
  );
  server.maxConnections = connectionsLimit;
  await listen(server, options);
  return { url: `http://${options.host}:${portOf(server)}`, close: () => close(server, feeds) };
}

function listen(server: Server, { port, host }: ServeOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const code = cause.code === "EADDRINUSE" ? "port-in-use" : "cannot-listen";
      const message = `cannot listen on ${host}:${port}`;
      reject(new Failure(code, "never", { message, cause }));
    });
    server.listen(port, host, resolve);
  });
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("it listens on no port");
  return address.port;
}

function close(server: Server, feeds: ReadonlySet<() => void>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const end of feeds) end();
    setTimeout(() => server.closeAllConnections(), closeGraceMs).unref();
  });
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly feeds: Set<() => void>;
}

async function answerOne(options: ServeOptions, exchange: Exchange): Promise<void> {
  let answer: HttpAnswer;
  try {
    answer = await answerFor(options, exchange.request);
  } catch (error) {
    answer = options.problem({ status: 500, error });
  }
  if (!exchange.response.destroyed) send(options, exchange, answer);
}

async function answerFor(options: ServeOptions, incoming: IncomingMessage): Promise<HttpAnswer> {
  const request = requestOf(incoming);
  if (request === null) return options.problem({ status: 405, allow: "GET, HEAD, POST" });
  const refused = options.guard?.(request) ?? null;
  if (refused !== null) return refused;
  const found = options.routes.flatMap((route) => {
    const names = match(route.path, request.path);
    return names === null ? [] : [{ route, names }];
  });
  if (found.length === 0) return options.problem({ status: 404 });
  const here = found.find(({ route }) => route.method === request.method);
  if (here === undefined) {
    const allow = found.map(({ route }) => (route.method === "GET" ? "GET, HEAD" : "POST"));
    return options.problem({ status: 405, allow: allow.join(", ") });
  }
  const body = await bodyOf(incoming, options.bodyBytesLimit ?? bodyBytesDefault);
  if (!Buffer.isBuffer(body)) return options.problem(body);
  return here.route.answer({ ...request, names: here.names, body });
}

/** Null for a method that is not answered at all. */
function requestOf({ method, url, headers }: IncomingMessage): HttpRequest | null {
  if (method !== "GET" && method !== "HEAD" && method !== "POST") return null;
  const [path = "", query = ""] = (url ?? "").split(/\?(.*)/s);
  return {
    method: method === "POST" ? "POST" : "GET",
    path,
    query: new URLSearchParams(query),
    header: (name) => {
      const value = headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
  };
}

/** The named segments of a path that fits the pattern, else null. */
function match(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return null;
  const names: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const segment = given[index] ?? "";
    if (part.startsWith(":") && segment !== "") names[part.slice(1)] = segment;
    else if (part !== segment) return null;
  }
  return names;
}

/**
 * The whole body, or what is wrong with it. What is too much is read and thrown away up to four
 * times the cap, so that an honest client hears the answer; who goes on is cut off.
 */
async function bodyOf(incoming: IncomingMessage, limit: number): Promise<Buffer | HttpProblem> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length <= limit) chunks.push(chunk);
      if (length > 4 * limit) break;
    }
  } catch {
    return { status: 408 };
  }
  return length > limit ? { status: 413 } : Buffer.concat(chunks, length);
}

function send(options: ServeOptions, exchange: Exchange, answer: HttpAnswer): void {
  const { request, response } = exchange;
  const { body } = answer;
  response.statusCode = answer.status;
  for (const [name, value] of Object.entries({ ...options.headers, ...answer.headers })) {
    response.setHeader(name, value);
  }
  // What was not read to its end cannot be told from the next request.
  if (!request.complete) response.setHeader("connection", "close");
  if (typeof body !== "function") response.end(request.method === "HEAD" ? undefined : body);
  else if (request.method === "HEAD") response.end();
  else feed(exchange, body);
}

function feed({ response, feeds }: Exchange, begin: Feed): void {
  response.setHeader("connection", "close");
  response.flushHeaders();
  const stop = begin((text) => {
    response.write(text);
    if (response.writableLength > unreadBytesLimit) response.destroy();
  });
  function end(): void {
    response.end();
  }
  feeds.add(end);
  response.once("close", () => {
    feeds.delete(end);
    stop();
  });
}
