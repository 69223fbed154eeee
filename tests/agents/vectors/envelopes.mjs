// Frames, requests and rows: the shapes whose parser is more than one schema (session protocol §3, §8, §9, §11).

import { LIMITS, Refused, has, isObject, plain, utf8, weight } from "./plain.mjs";

const VERSION = 1;
const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TURNS = ["prompt", "steer", "follow_up", "cancel"];
const REMOTE = ["sessions.create", ...TURNS, "interaction.answer", "ui.action", "close"];

/** The look-up form of a mutation's id. */
export function mutationId(text) {
  const lower = text.toLowerCase();
  if (!UUID7.test(lower)) throw new Refused("id", "a mutation needs a UUIDv7 in the 8-4-4-4-12 form");
  return lower;
}

function objectAt(value, path) {
  if (!isObject(value)) throw new Refused(path, "must be an object");
  return value;
}

function requireMember(value, name, path = name) {
  if (!has(value, name)) throw new Refused(path, "is required");
  return value[name];
}

export class Protocol {
  /** `catalog`: the output of `felan protocol catalog --json`. */
  constructor(shapes, catalog) {
    this.shapes = shapes;
    this.operations = new Map(catalog.map((row) => [row.op, row]));
  }

  operation(name) {
    const found = this.operations.get(name);
    if (!found) throw new Refused("op", "no operation has this name", "unsupported_operation");
    return found;
  }

  params(name, params, path = "params") {
    const { params: shape } = this.operation(name);
    if (name === "config.set" && isObject(params) && has(params, "expectedRevision")) {
      throw new Refused(`${path}.expectedRevision`, "config.set merges without a revision");
    }
    return this.shapes.read(shape, params, path);
  }

  result(name, result) {
    return this.shapes.read(this.operation(name).result, result, "result");
  }

  // --- frames ---

  #frame(raw) {
    const frame = plain(objectAt(raw, "frame"));
    const { v } = frame;
    if (!Number.isInteger(v) || v < 1) throw new Refused("v", "the version is required, a positive integer");
    if (v !== VERSION) throw new Refused("v", `this side speaks version ${VERSION}`, "protocol_mismatch");
    return frame;
  }

  /** A request, in the order of checks of §3. */
  request(raw) {
    const frame = this.#frame(raw);
    const id = this.#id(requireMember(frame, "id"), "id");
    const name = requireMember(frame, "op");
    if (typeof name !== "string") throw new Refused("op", "must be text");
    if (utf8(name) > LIMITS.labelBytes) throw new Refused("op", `more than ${LIMITS.labelBytes} bytes`);
    const { scope, mutates } = this.operation(name);
    if (mutates) mutationId(id);
    const addressed = has(frame, "session");
    if (["session", "root"].includes(scope) && !addressed) throw new Refused("session", "is required");
    if (scope === "host" && addressed) throw new Refused("session", "an operation of the host has none");
    const session = addressed ? { session: this.#id(frame.session, "session") } : {};
    const params = this.params(name, objectAt(requireMember(frame, "params"), "params"));
    if (name === "config.set" && addressed) ofExtensions(params.values, "params.values");
    return { v: VERSION, id, op: name, params, ...session };
  }

  #id(value, path) {
    if (typeof value !== "string") throw new Refused(path, "must be text");
    if (value === "" || utf8(value) > LIMITS.idBytes) throw new Refused(path, "1 to 128 bytes");
    return value;
  }

  /** A host's frame; `op`: the operation of the outstanding request that a reply answers. */
  hostFrame(raw, op) {
    const frame = this.#frame(raw);
    const kinds = ["outcome", "event", "stream", "notice"].filter((name) => has(frame, name));
    if (kinds.length !== 1) throw new Refused("frame", "exactly one of outcome, event, stream, notice");
    if (has(frame, "event")) {
      const event = this.event(frame.event);
      return { ...this.shapes.read("EventFrame", { ...frame, event: { type: "session.closed" } }), event };
    }
    if (has(frame, "stream")) return this.shapes.read("TextFrame", frame);
    if (has(frame, "notice")) return this.shapes.read("NoticeFrame", frame);
    if (frame.outcome !== "accepted") return this.shapes.read("Refused", frame);
    requireMember(frame, "re");
    objectAt(requireMember(frame, "result"), "result");
    if (op === undefined) throw new Refused("re", "no request is outstanding that this answers");
    return { ...this.shapes.read("Accepted", frame), result: this.result(op, frame.result) };
  }

  /** An event: one of a known type by its shape, another one as it came, within 12 MiB. */
  event(value, path = "event") {
    const event = plain(value, path);
    const type = isObject(event) ? event.type : undefined;
    if (typeof type !== "string" || type === "") throw new Refused(`${path}.type`, "a string is required");
    const known = this.shapes.eventShape(type);
    if (known) return this.shapes.read(known, event, path);
    if (weight(event) > LIMITS.pageBytes) throw new Refused(path, `more than ${LIMITS.pageBytes} bytes`);
    return event;
  }

  // --- hello of any version, control ---

  bootstrapHello(raw) {
    const frame = plain(objectAt(raw, "hello"));
    if (frame.op !== "hello") throw new Refused("op", "the first frame is hello");
    const params = objectAt(frame.params, "params");
    const picked = {};
    for (const name of ["v", "id"]) if (has(frame, name)) picked[name] = frame[name];
    for (const name of ["protocolVersions", "client", "target"]) if (has(params, name)) picked[name] = params[name];
    return this.shapes.read("BootstrapHello", picked);
  }

  control(shape, raw) {
    const frame = plain(objectAt(raw, "frame"));
    const { control } = frame;
    if (!Number.isInteger(control) || control < 1) throw new Refused("control", "the version is required");
    if (control !== VERSION) throw new Refused("control", "another version", "protocol_mismatch");
    return this.shapes.read(shape, frame);
  }

  // --- rows and remote commands ---

  row(shape, raw) {
    const row = this.shapes.read(shape, plain(raw), "row");
    if (shape === "StoredEventRow") return { ...row, event: this.event(row.event, "row.event") };
    if (row.id !== mutationIdAt(row.id, "row.id")) throw new Refused("row.id", "must be lower-case");
    return row;
  }

  remoteOperation(raw) {
    const { op, params } = objectAt(plain(raw), "command");
    if (typeof op !== "string") throw new Refused("op", "a string is required");
    objectAt(params, "params");
    if (!REMOTE.includes(op)) throw new Refused("op", "is no remote operation", "unsupported_operation");
    if (op !== "sessions.create") return { op, params: this.params(op, params) };
    return { op, params: this.shapes.read("RemoteCreateParams", params, "params") };
  }

  remoteCommandRow(raw) {
    const row = objectAt(plain(raw), "row");
    const { params } = this.remoteOperation(row);
    const [automation, channel, requester] = ["automation", "channel", "requester"].map((name) => has(row, name));
    if (automation && channel) throw new Refused("row.channel", "automation or a channel");
    if (automation && requester) throw new Refused("row.requester", "an automation has none");
    if (!automation && !channel && !requester) throw new Refused("row", "a provenance is required");
    const read = this.shapes.read("RemoteCommandRow", { ...row, params }, "row");
    const { scope } = this.operation(read.op);
    if (scope === "session" && !has(read, "session")) throw new Refused("row.session", "is required");
    if (scope === "host" && has(read, "session")) throw new Refused("row.session", "an operation of the host has none");
    return read;
  }

  // --- requests that happen once ---

  /** Canonical JSON (RFC 8785) of `{op, params, session?}`: names sorted by UTF-16 units, as JavaScript sorts. */
  canonicalPayload({ op, session, params }) {
    const read = this.params(op, plain(params, "params"));
    return canonical({ op, params: read, ...(session === undefined ? {} : { session }) });
  }
}

/** With a session `config.set` has settings of extensions alone. */
function ofExtensions(values, path) {
  for (const name of Object.keys(values)) {
    if (!name.startsWith("extensionConfig.")) throw new Refused(`${path}.${name}`, "is no setting of an extension");
  }
}

function mutationIdAt(id, path) {
  try {
    return mutationId(id);
  } catch {
    throw new Refused(path, "a mutation needs a UUIDv7");
  }
}

function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}
