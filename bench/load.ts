// A sender that costs little (spec 8.5): so many connections, one request at a time on each, the bytes made before. Says
// how many were answered with 2xx and how long each took.
import { connect, type Socket } from "node:net";

/** One request, ready to be sent but for its own id. */
export interface Prepared {
  readonly headFor: (id: string) => string;
  readonly body: Buffer;
}

export interface LoadOptions {
  readonly port: number;
  readonly clients: number;
  readonly forMs: number;
  readonly requests: readonly Prepared[];
  /** Ids are unique among all loads with different prefixes. */
  readonly idPrefix: string;
}

export interface Load {
  readonly answered: number;
  readonly elapsedMs: number;
  readonly latenciesMs: readonly number[];
}

/** Throws on any answer but 2xx. */
export async function applyLoad(options: LoadOptions): Promise<Load> {
  const latenciesMs: number[] = [];
  const beganAt = performance.now();
  const endsAt = beganAt + options.forMs;
  let sent = 0;
  async function client(): Promise<void> {
    const line = await openLine(options.port);
    while (performance.now() < endsAt) {
      const request = options.requests[sent % options.requests.length];
      if (request === undefined) throw new Error("there is nothing to send");
      sent += 1;
      const startAt = performance.now();
      await line.ask(request.headFor(`${options.idPrefix}-${sent}`), request.body);
      latenciesMs.push(performance.now() - startAt);
    }
    line.close();
  }
  await Promise.all(Array.from({ length: options.clients }, client));
  return { answered: latenciesMs.length, elapsedMs: performance.now() - beganAt, latenciesMs };
}

interface Line {
  ask(head: string, body: Buffer): Promise<void>;
  close(): void;
}

function openLine(port: number): Promise<Line> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.once("error", reject);
    socket.once("connect", () => resolve(lineOn(socket)));
  });
}

function lineOn(socket: Socket): Line {
  let heard = "";
  let waiting: PromiseWithResolvers<void> | null = null;
  socket.setEncoding("latin1");
  socket.on("data", (chunk) => {
    heard += String(chunk);
    if (!isWhole(heard)) return;
    const isTaken = heard.startsWith("HTTP/1.1 2");
    if (isTaken) waiting?.resolve();
    else waiting?.reject(new Error(`it was answered with ${heard.slice(0, 200)}`));
    heard = "";
  });
  socket.on("error", (error) => waiting?.reject(error));
  socket.on("close", () => waiting?.reject(new Error("the connection ended")));
  return {
    ask: (head, body) => {
      waiting = Promise.withResolvers<void>();
      socket.cork();
      socket.write(head);
      socket.write(body);
      socket.uncork();
      return waiting.promise;
    },
    close: () => {
      waiting = null;
      socket.destroy();
    },
  };
}

/** Whether that is one answer to its end; the servers here tell a length or send chunks. */
function isWhole(heard: string): boolean {
  const headEnd = heard.indexOf("\r\n\r\n");
  if (headEnd < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(heard.slice(0, headEnd))?.[1];
  if (length === undefined) return heard.endsWith("\r\n0\r\n\r\n");
  return heard.length >= headEnd + 4 + Number(length);
}
