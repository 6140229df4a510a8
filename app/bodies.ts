// Request bodies (spec 6.2): read in memory up to a cap, in a limited time, and together no more than
// their room. Knows nothing of what they mean, and holds nothing of a body that it refused.

import type { IncomingMessage, ServerResponse } from "node:http";

/** Why there is no body: too slow or cut off, too long, or no room for it now. */
export interface BodyProblem {
  readonly status: 408 | 413 | 503;
}

export interface BodyLimits {
  readonly bytesLimit: number;
  /** From the headers to the end of the body. */
  readonly msLimit: number;
}

/** What the bodies of all connections weigh together while they are read and until they are answered. */
export interface Room {
  readonly bytesLimit: number;
  bytes: number;
  readonly unfinished: Set<Reading>;
}

interface Reading {
  bytes: number;
  readonly end: (problem: BodyProblem) => void;
}

export function openRoom(bytesLimit: number): Room {
  return { bytesLimit, bytes: 0, unfinished: new Set() };
}

/** A whole body; it weighs on its room until `release` is called. */
export interface Taken {
  readonly bytes: Buffer;
  readonly release: () => void;
}

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Reads a body to its end. A length that is told and too much is refused with nothing read. Where the room is full the
 * largest unfinished body gives way, so that nobody keeps short ones out by beginning long ones.
 */
export function takeBody(
  exchange: Exchange,
  limits: BodyLimits,
  room: Room,
): Promise<Taken | BodyProblem> {
  const { headers } = exchange.request;
  const told = Number(headers["content-length"] ?? 0);
  if (told > limits.bytesLimit) return Promise.resolve({ status: 413 });
  if (headers.expect !== undefined) exchange.response.writeContinue();
  return read(exchange.request, limits, room);
}

function read(incoming: IncomingMessage, limits: BodyLimits, room: Room) {
  return new Promise<Taken | BodyProblem>((resolve) => {
    let held: Buffer = Buffer.alloc(0);
    let length = 0;
    const reading: Reading = { bytes: 0, end: refuse };
    const timer = setTimeout(() => refuse({ status: 408 }), limits.msLimit);
    room.unfinished.add(reading);
    incoming.on("data", take);
    incoming.once("end", finish);
    incoming.once("error", cutOff);

    function take(chunk: Buffer): void {
      if (length + chunk.length > limits.bytesLimit) return refuse({ status: 413 });
      held = joined({ held, length }, chunk);
      length += chunk.length;
      room.bytes += held.length - reading.bytes;
      reading.bytes = held.length;
      if (room.bytes > room.bytesLimit) largestOf(room).end({ status: 503 });
    }

    function finish(): void {
      leave();
      const { bytes } = reading;
      resolve({ bytes: held.subarray(0, length), release: () => void (room.bytes -= bytes) });
    }

    function cutOff(): void {
      refuse({ status: 408 });
    }

    function refuse(problem: BodyProblem): void {
      leave();
      room.bytes -= reading.bytes;
      held = Buffer.alloc(0);
      resolve(problem);
    }

    function leave(): void {
      clearTimeout(timer);
      room.unfinished.delete(reading);
      incoming.off("data", take).off("end", finish).off("error", cutOff);
    }
  });
}

/**
 * One buffer that doubles instead of a list of chunks: a body sent byte by byte would weigh a hundred times as much as a
 * list. Most bodies are one chunk, and that is not copied.
 */
function joined({ held, length }: { held: Buffer; length: number }, chunk: Buffer): Buffer {
  if (length === 0) return chunk;
  const needed = length + chunk.length;
  const target = needed <= held.length ? held : Buffer.allocUnsafeSlow(2 * needed);
  if (target !== held) held.copy(target, 0, 0, length);
  chunk.copy(target, length);
  return target;
}

function largestOf({ unfinished }: Room): Reading {
  const [first, ...others] = unfinished;
  if (first === undefined) throw new Error("a room is full of bodies, and none is being read");
  return others.reduce((most, one) => (one.bytes > most.bytes ? one : most), first);
}
