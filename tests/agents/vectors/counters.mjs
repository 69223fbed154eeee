// What is counted or remembered: frames, text offsets, revisions, records, limits (session protocol §1, §2, §7, §8).

import { LIMITS, Refused, isObject, plain } from "./plain.mjs";
import { mutationId } from "./envelopes.mjs";

const LF = 0x0a;

/** Bytes in, frames out, whatever the chunking. */
export class Decoder {
  #rest = Buffer.alloc(0);

  /** The frames of `chunk` and of what was pushed before it. */
  push(chunk) {
    const data = Buffer.concat([this.#rest, chunk]);
    const frames = [];
    let start = 0;
    for (let end = data.indexOf(LF); end >= 0; end = data.indexOf(LF, start)) {
      const frame = parseLine(data.subarray(start, end));
      if (frame !== undefined) frames.push(frame);
      start = end + 1;
    }
    this.#rest = data.subarray(start);
    if (this.#rest.length > LIMITS.frameBytes) throw new Refused("frame", "a line without its end");
    return frames;
  }

  /** The end of the stream. */
  finish() {
    if (/[^ \t\r]/.test(this.#rest.toString("latin1"))) throw new Refused("frame", "the stream ended inside a frame");
  }
}

/** The object of one line; undefined for an empty line. */
function parseLine(line) {
  if (line.length > LIMITS.frameBytes) throw new Refused("frame", "too long");
  if (!/[^ \t\r]/.test(line.toString("latin1"))) return undefined;
  let value;
  try {
    // ignoreBOM keeps a byte order mark in the text, where JSON.parse refuses it.
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line));
  } catch {
    throw new Refused("frame", "not UTF-8 or not JSON");
  }
  if (!isObject(value)) throw new Refused("frame", "must be an object");
  return plain(value);
}

/** What a text frame means to a reader in this state. Offsets count Unicode scalar values. */
export function classifyText(state, { kind, offset, text }) {
  if (state === "completed" || state === "completion_only") return "ignore";
  if (state === null) return offset === 0 ? "start" : "gap";
  if (kind !== state.kind) return "gap";
  const known = [...state.text];
  const delta = [...text];
  if (offset === known.length) return "append";
  const end = offset + delta.length;
  return end <= known.length && known.slice(offset, end).join("") === text ? "duplicate" : "gap";
}

export function classifyRevision(current, incoming) {
  if (incoming === current + 1) return "next";
  return incoming <= current ? "duplicate" : "gap";
}

/** Up to when a record is retained: 7 days past the later of the id's own time and admission. */
export function retainUntil(id, admittedAt) {
  const own = Number.parseInt(mutationId(id).replaceAll("-", "").slice(0, 12), 16);
  return Math.max(own, admittedAt) + LIMITS.requestRetainMs;
}

export function compareRequest(stored, payload) {
  if (stored === null || stored.v !== 1) return "unavailable";
  return stored.payload === payload ? "same" : "conflict";
}

/** Refuse what is past the limit of a counter: `held` are counted, `more` come. */
export const ADMISSION = {
  inFlightRequests: (held, more) => check(held + more <= LIMITS.inFlightRequests, "busy"),
  unsentBytes: (held, more) => check(held + more <= LIMITS.unsentBytes, "resync_required"),
  // An answer at `expiresAt` itself is too late.
  deferredMs: (held, more) => check(held + more < LIMITS.deferredMs, "expired"),
  requestsPerSession: (held, more, durability) =>
    check(durability === "control" || held + more <= LIMITS.requestsPerSession, "request_capacity"),
  requestsPerNamespace: (held, more, durability) => {
    const reserved = durability === "control" ? 0 : LIMITS.reservedControlSlots;
    check(held + more <= LIMITS.requestsPerNamespace - reserved, "request_capacity");
  },
};

function check(within, code) {
  if (!within) throw new Refused("", "past the limit", code);
}
