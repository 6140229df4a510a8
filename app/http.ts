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
  /** Who may call it, from the headers alone and before a body is read; in place of the server's guard. */
  readonly access?: (request: HttpRequest) => HttpAnswer | null;
  /** In place of the server's cap. */
  readonly bodyBytesLimit?: number;
  readonly answer: (request: Matched) => HttpAnswer | Promise<HttpAnswer>;
}

/** What the server itself has to say. The error of a 500 is for the log alone. */
export type HttpProblem =
  /** 503: more is being received at once than there is room for. */
  | { readonly status: 404 | 408 | 413 | 503 }
  | { readonly status: 405; readonly allow: string }
  | { readonly status: 500; readonly error: unknown };

export interface ServeOptions {
  /** 0 takes a free one. */
  readonly port: number;
  readonly host: string;
  readonly routes: readonly Route[];
  /** Asked before a body is read, and before anyone learns which routes there are; an answer ends it. */
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
/** Far above what forges and browsers open; idle and slow ones end by the request's time limit. */
const connectionsLimit = 4_096;
/** Bodies that are being received, of all connections together. */
const receivingBytesLimit = 64 * 1024 * 1024;
/** What is too much is read this far, so that an honest client hears the answer; who goes on is cut off. */
const drainBytesLimit = 4 * 1024 * 1024;
/** A feed's reader that lets this much pile up is gone. */
const unreadBytesLimit = 256 * 1024;

/** Throws Failure `port-in-use`, or `cannot-listen` for any other reason. */
export async function serve(options: ServeOptions): Promise<Serving> {
  const feeds = new Set<() => void>();
  const requestMs = options.requestMsLimit ?? requestMsDefault;
  const receiving = { bytes: 0 };
  const server = createServer(
    {
      headersTimeout: requestMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.ceil(requestMs / 10),
    },
    (request, response) => void answerOne(options, { request, response, feeds, receiving }),
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
  readonly receiving: Receiving;
}

/** What of bodies is in memory now. */
interface Receiving {
  bytes: number;
}

async function answerOne(options: ServeOptions, exchange: Exchange): Promise<void> {
  let answer: HttpAnswer;
  try {
    answer = await answerFor(options, exchange);
  } catch (error) {
    answer = options.problem({ status: 500, error });
  }
  if (!exchange.response.destroyed) send(options, exchange, answer);
}

async function answerFor(options: ServeOptions, exchange: Exchange): Promise<HttpAnswer> {
  const request = requestOf(exchange.request);
  if (request === null) return options.problem({ status: 405, allow: "GET, HEAD, POST" });
  const found = options.routes.flatMap((route) => {
    const names = match(route.path, request.path);
    return names === null ? [] : [{ route, names }];
  });
  const here = found.find(({ route }) => route.method === request.method);
  const refused = (here?.route.access ?? options.guard)?.(request) ?? null;
  if (refused !== null) return refused;
  if (found.length === 0) return options.problem({ status: 404 });
  if (here === undefined) {
    const allow = found.map(({ route }) => (route.method === "GET" ? "GET, HEAD" : "POST"));
    return options.problem({ status: 405, allow: allow.join(", ") });
  }
  const limit = here.route.bodyBytesLimit ?? options.bodyBytesLimit ?? bodyBytesDefault;
  const body = await bodyOf(exchange, limit);
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

/** The whole body, or what is wrong with it. What is announced as far too large is not read at all. */
async function bodyOf(exchange: Exchange, limit: number): Promise<Buffer | HttpProblem> {
  const { request, receiving } = exchange;
  const mostRead = Math.max(limit, drainBytesLimit);
  if (Number(request.headers["content-length"] ?? 0) > mostRead) return { status: 413 };
  const chunks: Buffer[] = [];
  let length = 0;
  let kept = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > mostRead) break;
      if (length > limit) continue;
      if (receiving.bytes + chunk.length > receivingBytesLimit) return { status: 503 };
      receiving.bytes += chunk.length;
      kept += chunk.length;
      chunks.push(chunk);
    }
  } catch {
    return { status: 408 };
  } finally {
    receiving.bytes -= kept;
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
