// The one HTTP server (spec 6.2, 7.4): routes, caps on bodies and connections, an end for slow
// clients, a clean close. Knows nothing of what it serves: the guard says who may see it, the
// caller how a problem looks.

import { createServer, type IncomingMessage, type Server } from "node:http";
import { Failure } from "../policies/failure.ts";
import {
  openRoom,
  takeBody,
  type BodyLimits,
  type BodyProblem,
  type Exchange,
  type Room,
} from "./bodies.ts";

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
  /** How long a body may take from its headers to its end; the server's own limit counts too. */
  readonly bodyMsLimit?: number;
  /** What is said where a body was not taken, in place of the server's words. */
  readonly refuse?: (problem: BodyProblem) => HttpAnswer;
  readonly answer: (request: Matched) => HttpAnswer | Promise<HttpAnswer>;
}

/** What the server itself has to say. The error of a 500 is for the log alone. */
export type HttpProblem =
  | { readonly status: 404 }
  /** 503: more is being received at once than there is room for. */
  | BodyProblem
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
  /** Beyond it the connection ends that has owed a whole request for longest. */
  readonly connectionsLimit?: number;
  /** What the bodies of all connections may weigh; beyond it the largest unfinished one gives way. */
  readonly roomBytesLimit?: number;
}

export interface Serving {
  readonly url: string;
  /** Ends feeds, gives running answers a second, and resolves when nothing is open. */
  close(): Promise<void>;
}

const bodyBytesDefault = 1024 * 1024;
const requestMsDefault = 15_000;
const closeGraceMs = 1_000;
const connectionsDefault = 1_024;
const roomBytesDefault = 64 * 1024 * 1024;
/** How much, and how long, is read and thrown away of a refused body, so that its sender hears why. */
const partingBytesLimit = 1024 * 1024;
const partingMsLimit = 1_000;
/** A feed's reader that lets this much pile up is gone. */
const unreadBytesLimit = 256 * 1024;

interface Place {
  readonly route: Route;
  readonly parts: readonly string[];
}

/** What all requests of a server have in common. */
interface Site {
  readonly options: ServeOptions;
  readonly places: readonly Place[];
  readonly room: Room;
  readonly feeds: Set<() => void>;
  /** Connections that owe a whole request, the longest-owing first. */
  readonly owing: Set<IncomingMessage["socket"]>;
}

/** Throws Failure `port-in-use`, or `cannot-listen` for any other reason. */
export async function serve(options: ServeOptions): Promise<Serving> {
  const site: Site = {
    options,
    places: options.routes.map((route) => ({ route, parts: route.path.split("/") })),
    room: openRoom(options.roomBytesLimit ?? roomBytesDefault),
    feeds: new Set(),
    owing: new Set(),
  };
  const requestMs = options.requestMsLimit ?? requestMsDefault;
  const server = createServer({
    headersTimeout: requestMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.ceil(requestMs / 10),
  });
  server.on("request", (request, response) => void answerOne(site, { request, response }));
  // Without it, who asks before sending a body is told to go on before its headers were judged.
  server.on("checkContinue", (request, response) => void answerOne(site, { request, response }));
  limitConnections(server, site);
  await listen(server, options);
  return {
    url: `http://${addressOf(options.host)}:${portOf(server)}`,
    close: () => close(server, site.feeds),
  };
}

/**
 * Nobody keeps others out by opening connections and saying little: who has owed a request for longest goes first. An
 * honest sender owes one for an instant, and one whose request is being answered owes none.
 */
function limitConnections(server: Server, { options, owing }: Site): void {
  const limit = options.connectionsLimit ?? connectionsDefault;
  let count = 0;
  server.on("connection", (socket) => {
    count += 1;
    owing.add(socket);
    socket.once("close", () => {
      count -= 1;
      owing.delete(socket);
    });
    const [longest] = owing;
    if (count > limit) longest?.destroy();
  });
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

/** The host of an address that leads there from this machine. */
function addressOf(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
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

async function answerOne(site: Site, exchange: Exchange): Promise<void> {
  let answer: HttpAnswer;
  try {
    answer = await answerFor(site, exchange);
  } catch (error) {
    answer = site.options.problem({ status: 500, error });
  }
  if (!exchange.response.destroyed) send(site, exchange, answer);
}

async function answerFor(site: Site, exchange: Exchange): Promise<HttpAnswer> {
  const { options, owing } = site;
  const request = requestOf(exchange.request);
  if (request === null) return options.problem({ status: 405, allow: "GET, HEAD, POST" });
  const found = findPlaces(site.places, request.path);
  const here = found.find(({ route }) => route.method === request.method);
  const denied = (here?.route.access ?? options.guard)?.(request) ?? null;
  if (denied !== null) return denied;
  if (found.length === 0) return options.problem({ status: 404 });
  if (here === undefined) {
    const allow = found.map(({ route }) => (route.method === "GET" ? "GET, HEAD" : "POST"));
    return options.problem({ status: 405, allow: allow.join(", ") });
  }
  const { route, names } = here;
  const taken = await takeBody(exchange, limitsOf(options, route), site.room);
  if ("status" in taken) return (route.refuse ?? options.problem)(taken);
  owing.delete(exchange.request.socket);
  try {
    return await route.answer({ ...request, names, body: taken.bytes });
  } finally {
    taken.release();
  }
}

interface Found extends Place {
  readonly names: Readonly<Record<string, string>>;
}

function findPlaces(places: readonly Place[], path: string): Found[] {
  const given = path.split("/");
  return places.flatMap((place) => {
    const names = match(place.parts, given);
    return names === null ? [] : [{ ...place, names }];
  });
}

/** A request to read has no body worth keeping. */
function limitsOf(options: ServeOptions, route: Route): BodyLimits {
  const cap = route.bodyBytesLimit ?? options.bodyBytesLimit ?? bodyBytesDefault;
  const msLimit = route.bodyMsLimit ?? options.requestMsLimit ?? requestMsDefault;
  return { bytesLimit: route.method === "GET" ? 0 : cap, msLimit };
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
function match(wanted: readonly string[], given: readonly string[]): Found["names"] | null {
  if (wanted.length !== given.length) return null;
  const names: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const segment = given[index] ?? "";
    if (part.startsWith(":") && segment !== "") names[part.slice(1)] = segment;
    else if (part !== segment) return null;
  }
  return names;
}

function send(site: Site, exchange: Exchange, answer: HttpAnswer): void {
  const { request, response } = exchange;
  const body = request.method === "HEAD" ? "" : answer.body;
  response.statusCode = answer.status;
  for (const [name, value] of Object.entries({ ...site.options.headers, ...answer.headers })) {
    response.setHeader(name, value);
  }
  if (typeof body === "function") return feed(response, body, site.feeds);
  if (!request.complete) return part(exchange, body);
  response.end(body);
  site.owing.delete(request.socket);
  if (!request.socket.destroyed) site.owing.add(request.socket);
}

/**
 * Answers what was not read to its end: the rest cannot be told from a next request, so the connection ends. It is
 * heard for a moment longer, since bytes that meet a closed socket make the sender's system drop the answer.
 */
function part({ request, response }: Exchange, body: string | Buffer): void {
  const { socket } = request;
  response.setHeader("connection", "close");
  response.setHeader("content-length", Buffer.byteLength(body));
  response.write(body);
  socket.end();
  let heard = 0;
  request.on("data", (chunk: Buffer) => {
    heard += chunk.length;
    // Not a cut: a sender that has to wait reads what it is told.
    if (heard > partingBytesLimit) request.pause();
  });
  request.once("end", () => socket.destroySoon());
  const timer = setTimeout(() => socket.destroy(), partingMsLimit);
  socket.once("close", () => clearTimeout(timer));
}

function feed(response: Exchange["response"], begin: Feed, feeds: Set<() => void>): void {
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
