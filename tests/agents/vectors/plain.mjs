// Plain JSON: what a frame may hold, its weight, and the error of every refusal (session protocol §1).

export const LIMITS = {
  jsonDepth: 32,
  structuredBytes: 65_536,
  structuredEntries: 1_024,
  pageBytes: 12_582_912,
  snapshotBytes: 14_680_064,
  activeStreams: 8,
  streamTotalBytes: 4_194_304,
  processReadBytes: 65_536,
  processWriteBytes: 16_384,
  idBytes: 128,
  labelBytes: 1_024,
  unsentBytes: 33_554_432,
  inFlightRequests: 64,
  requestsPerSession: 100_000,
  requestsPerNamespace: 1_000_000,
  reservedControlSlots: 1_024,
  requestRetainMs: 604_800_000,
  deferredMs: 1_800_000,
  frameBytes: 16_777_216,
};

/** A refusal: the code of the wire, the place in the value, and the rule in words. */
export class Refused extends Error {
  constructor(path, rule, code = "invalid_request") {
    super(`${path || "value"}: ${rule}`);
    this.code = code;
    this.path = path || "value";
  }
}

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
export const has = (object, name) => Object.prototype.hasOwnProperty.call(object, name);
export const under = (path, name) => (path ? `${path}.${name}` : name);

/** The UTF-8 bytes of a string, and of any value as JSON. */
export const utf8 = (text) => Buffer.byteLength(text, "utf8");
export const weight = (value) => utf8(JSON.stringify(value));

/** A copy in normal form (`-0` is `0`). Refuses NaN, integers beyond 2^53 - 1, lone surrogates, 33 levels. */
export function plain(value, path = "", depth = 0) {
  if (typeof value === "string") {
    if (!value.isWellFormed()) throw new Refused(path, "a lone surrogate");
    return value;
  }
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new Refused(path, "not a finite number");
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new Refused(path, "beyond 2^53 - 1");
    return value === 0 ? 0 : value;
  }
  if (value === null || typeof value === "boolean") return value;
  if (depth >= LIMITS.jsonDepth) throw new Refused(path, `nested deeper than ${LIMITS.jsonDepth}`);
  if (Array.isArray(value)) return value.map((item, index) => plain(item, `${path}[${index}]`, depth + 1));
  const copy = {};
  for (const [name, item] of Object.entries(value)) {
    plain(name, path, depth + 1);
    define(copy, name, plain(item, under(path, name), depth + 1));
  }
  return copy;
}

/** Set a member; a name such as `__proto__` is a member like any other. */
export function define(object, name, value) {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
}

/** The bound of every array and object in a piece of free JSON. */
export function checkEntries(value, limit, path) {
  if (typeof value !== "object" || value === null) return;
  const items = Object.entries(value);
  if (items.length > limit) throw new Refused(path, `more than ${limit} entries`);
  for (const [name, item] of items) {
    checkEntries(item, limit, Array.isArray(value) ? `${path}[${name}]` : under(path, name));
  }
}

/** Structured data: 64 KiB as JSON, 1,024 entries in any one collection. */
export function checkStructured(value, path, limit = LIMITS.structuredBytes) {
  if (weight(value) > limit) throw new Refused(path, `more than ${limit} bytes`);
  checkEntries(value, LIMITS.structuredEntries, path);
}
