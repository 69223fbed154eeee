// Reads every test vector with an implementation of its own: `node run.mjs VECTORS < contract.json`.
//
// The contract on standard input is {schemas, catalog}: the output of `felan protocol schema` and of
// `felan protocol catalog --json`. Prints one JSON object: the lines of each file, and what differs. Exit code 1
// for a difference, and for a file whose shape is unknown here. Node 20 and nothing else is needed.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { ADMISSION, Decoder, classifyRevision, classifyText, compareRequest, retainUntil } from "./counters.mjs";
import { Protocol, mutationId } from "./envelopes.mjs";
import { checkAnswer, checkValues } from "./forms.mjs";
import { Refused, checkStructured, isObject, plain } from "./plain.mjs";
import { Shapes } from "./shapes.mjs";

const { schemas, catalog } = JSON.parse(readFileSync(0, "utf8"));
const shapes = new Shapes(schemas);
const protocol = new Protocol(shapes, catalog);

/** The input with `$repeat` and `$bytes` expanded. */
function expanded(value) {
  if (Array.isArray(value)) return value.map(expanded);
  if (!isObject(value)) return value;
  const [[name, argument] = [], ...others] = Object.entries(value);
  if (name === "$repeat" && others.length === 0) return argument[0].repeat(argument[1]);
  if (name === "$bytes" && others.length === 0) return Uint8Array.from(Buffer.from(argument, "base64"));
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, expanded(one)]));
}

const at = (shape, path) => (value) => shapes.read(shape, plain(value, path), path);

/** The readers of files whose name is no shape, or whose shape has more than a schema. */
const READERS = {
  Admission: ({ counted, held, more, durability }) => ADMISSION[counted](held, more, durability),
  BootstrapHello: (value) => protocol.bootstrapHello(value),
  CanonicalPayload: (value) => protocol.canonicalPayload(value),
  ClientEnvelope: (value) => protocol.request(value),
  Configuration: at("Configuration", "values"),
  ControlRequest: (value) => protocol.control("ControlRequest", value),
  ControlResponse: (value) => protocol.control("ControlResponse", value),
  DaemonTarget: at("DaemonTarget", "target"),
  FormValues: ({ fields, values }) => {
    const buttons = { submit: { id: "s", label: "S" }, cancel: { id: "c", label: "C" } };
    const form = shapes.read("Form", plain({ title: "t", fields, ...buttons }));
    checkValues(form.fields, plain(values), "values");
  },
  Interaction: at("Interaction", "interaction"),
  InteractionAnswer: ({ interaction, answer }) => {
    const { request } = shapes.read("Interaction", plain(interaction), "interaction");
    return checkAnswer(shapes, request, plain(answer));
  },
  JsonValue: (value) => {
    const copy = plain(value, "value");
    checkStructured(copy, "value");
    return copy;
  },
  MutationId: mutationId,
  RemoteCommandRow: (value) => protocol.remoteCommandRow(value),
  RemoteOperation: (value) => protocol.remoteOperation(value),
  RequestComparison: ({ stored, payload }) => compareRequest(stored, payload),
  RequestRetention: ({ id, admittedAt, now }) => {
    const until = retainUntil(id, admittedAt);
    if (now >= until) throw new Refused("", "the record is retained no more", "not_found");
    return until;
  },
  Revision: ({ current, incoming }) => classifyRevision(current, incoming),
  ServerEnvelope: (value, { op }) => protocol.hostFrame(value, op),
  SessionEvent: (value) => protocol.event(value),
  SessionSnapshot: at("SessionSnapshot", "snapshot"),
  StoredEventRow: (value) => protocol.row("StoredEventRow", value),
  StoredRequestRecord: (value) => protocol.row("StoredRequestRecord", value),
  Stream: (chunks) => {
    const decoder = new Decoder();
    const frames = chunks.flatMap((chunk) => decoder.push(Buffer.from(chunk)));
    decoder.finish();
    return frames;
  },
  TextDelta: ({ state, kind, offset, text }) => {
    shapes.read("StreamPosition", { message: "m", id: "p", kind, offset }, "stream");
    return classifyText(state, { kind, offset, text });
  },
};

/** The reader of a file: of its own, of an operation's params or result, or of a shape. */
function readerOf(file) {
  if (READERS[file]) return READERS[file];
  const [, name, part] = /^(.+)\.(params|result)$/.exec(file) ?? [];
  if (part === "params") return (value) => protocol.params(name, plain(value, "params"));
  if (part === "result") return (value) => protocol.result(name, plain(value, "result"));
  return shapes.has(file) ? at(file, "") : undefined;
}

/** What differs between a line and the outcome here; undefined for nothing. */
function difference(read, line) {
  const { expect } = line;
  const input = expanded(line.input);
  const before = structuredClone(input);
  let value;
  try {
    value = read(input, line);
  } catch (error) {
    if (!(error instanceof Refused)) return `${error.stack}`;
    if (expect === "ok") return `refused: ${error.message}`;
    if (error.code !== expect.code) return `${error.code} in place of ${expect.code}: ${error.message}`;
    const wanted = expect.path ?? error.path;
    return error.path === wanted ? undefined : `at ${error.path} in place of ${wanted}: ${error.message}`;
  }
  if (expect !== "ok") return "accepted";
  if (!isDeepStrictEqual(input, before)) return "the input was changed";
  if (!("value" in line) || isDeepStrictEqual(value, line.value)) return undefined;
  return `read as ${JSON.stringify(value)?.slice(0, 300)}`;
}

const report = { lines: {}, unknown: [], different: [] };
const folder = process.argv[2];
for (const name of readdirSync(folder).filter((one) => one.endsWith(".jsonl")).sort()) {
  const file = name.replace(/\.jsonl$/, "");
  const read = readerOf(file);
  if (!read) {
    report.unknown.push(file);
    continue;
  }
  const lines = readFileSync(join(folder, name), "utf8").split("\n").filter((line) => line !== "");
  report.lines[file] = lines.length;
  for (const line of lines.map((one) => JSON.parse(one))) {
    const found = difference(read, line);
    if (found !== undefined) report.different.push({ file, name: line.name, found });
  }
}
console.log(JSON.stringify(report));
process.exitCode = report.unknown.length || report.different.length ? 1 : 0;
