// The rules of each shape that its JSON Schema has in `$comment`: between members, and of weight.

import { checkMarkdown } from "./documents.mjs";
import { fieldProblem, selectBounds } from "./forms.mjs";
import { LIMITS, Refused, checkStructured, has, under, utf8, weight } from "./plain.mjs";

const unique = (keys, path) => {
  const seen = new Set();
  keys.forEach((key, index) => {
    if (seen.has(key)) throw new Refused(path(index), "the same id twice");
    seen.add(key);
  });
};
const uniqueIds = (rows, path) => {
  const ids = (rows ?? []).map((row) => row.id);
  unique(ids, (index) => `${path}[${index}].id`);
};
const notNull = (member) => (value, path) => {
  if (value[member] === null) throw new Refused(under(path, member), "null is no value");
};
const atMost = (bytes) => (value, path) => {
  if (weight(value) > bytes) throw new Refused(path, `more than ${bytes} bytes`);
};
const message = atMost(LIMITS.pageBytes);

/** A default is itself a valid answer. */
function checkDefault(field, path) {
  const problem = has(field, "default") && fieldProblem(field, field.default);
  if (problem) throw new Refused(under(path, "default"), `no valid answer: ${problem}`);
}

/** The rule of a field whose bounds are the members `low` and `high`. */
const bounded = (low, high) => (value, path) => {
  if (value[low] > value[high]) throw new Refused(under(path, high), `less than ${low}`);
  checkDefault(value, path);
};

function options(value, path) {
  uniqueIds(value.options, under(path, "options"));
  if (value.min > value.max) throw new Refused(under(path, "max"), "less than min");
  if (value.min > value.options.length) throw new Refused(under(path, "min"), "more than the options");
}

/** Members without a bound of their own are one piece of structured data. */
const element = (value, path, apart = {}) => {
  const { hint, ...rest } = { ...value, ...apart };
  atMost(LIMITS.structuredBytes)(rest, path);
  uniqueIds(value.actions, under(path, "actions"));
};

const CELLS = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  time: (value) => Number.isSafeInteger(value) && value >= 0,
};

function view(value, path) {
  element(value, path, { items: [] });
  uniqueIds(value.columns, under(path, "columns"));
  uniqueIds(value.items, under(path, "items"));
  const { index, size, total = Infinity } = value.page;
  const count = value.items.length;
  const page = under(path, "page");
  if (count > size) throw new Refused(under(page, "size"), "less than the items");
  if (index && index * size >= total) throw new Refused(under(page, "index"), "past the last page");
  if (index * size + count > total) throw new Refused(under(page, "total"), "less than the rows");
  const types = new Map(value.columns.map((column) => [column.id, column.type]));
  const declared = (value.actions ?? []).filter((action) => action.scope === "item").map((action) => action.id);
  value.items.forEach((item, row) => {
    const place = `${under(path, "items")}[${row}]`;
    for (const [name, cell] of Object.entries(item.fields)) {
      if (!CELLS[types.get(name)]?.(cell)) throw new Refused(`${place}.fields.${name}`, "not as its column declares");
    }
    (item.actions ?? []).forEach((action, at) => {
      if (!declared.includes(action)) throw new Refused(`${place}.actions[${at}]`, "no item action has this id");
    });
    unique(item.actions ?? [], (at) => `${place}.actions[${at}]`);
  });
}

function snapshot(value, path) {
  for (const name of ["tools", "interactions", "children", "processes", "presentation"]) {
    uniqueIds(value[name], under(path, name));
  }
  const streams = [...value.streams, ...value.completionOnlyStreams];
  const place = under(path, "streams");
  if (streams.length > LIMITS.activeStreams) throw new Refused(place, "more than 8 streams");
  unique(streams.map((one) => JSON.stringify([one.message, one.id])), () => place);
  const total = value.streams.reduce((sum, one) => sum + utf8(one.prefix), 0);
  if (total > LIMITS.streamTotalBytes) throw new Refused(place, "more than 4 MiB of text");
  atMost(LIMITS.snapshotBytes)(value, path);
}

const decodedBytes = (base64) => Buffer.from(base64, "base64").length;

function processRead(value, path) {
  const { data, offset, nextOffset, start, end } = value;
  const bytes = decodedBytes(data);
  if (bytes > LIMITS.processReadBytes) throw new Refused(under(path, "data"), "more than 64 KiB");
  if (nextOffset !== offset + bytes) throw new Refused(under(path, "nextOffset"), "not after the data");
  if (!(start <= offset && nextOffset <= end)) throw new Refused(under(path, "offset"), "not between start and end");
}

function processWrite(value, path) {
  if (decodedBytes(value.data) > LIMITS.processWriteBytes) throw new Refused(under(path, "data"), "more than 16 KiB");
}

function form(value, path) {
  uniqueIds(value.fields, under(path, "fields"));
  if (value.submit.id === value.cancel.id) throw new Refused(under(path, "cancel.id"), "the same as submit's");
}

/** The proxy of the configuration is a scheme, a host and a port: no user, no password. */
function configuration(value, path) {
  const proxy = value.httpProxy;
  if (typeof proxy === "string" && /@|%40/i.test(proxy)) throw new Refused(under(path, "httpProxy"), "a secret in it");
  for (const [name, one] of Object.entries(value)) checkStructured(one, under(path, name));
}

/** By shape; each is called with the value that was read and its place. */
export const RULES = {
  Action: (value, path) => uniqueIds(value.fields, under(path, "fields")),
  AnswerParams: (value, path) => {
    if (has(value.answer, "values")) checkStructured(value.answer.values, under(path, "answer.values"));
  },
  ApprovalRequest: (value, path) => uniqueIds(value.options, under(path, "options")),
  BooleanField: checkDefault,
  Configuration: configuration,
  DocumentElement: (value, path) => {
    element(value, path, { markdown: "" });
    checkMarkdown(value.markdown, under(path, "markdown"));
  },
  EnumField: (value, path) => {
    options(value, path);
    checkDefault(value, path);
  },
  Form: form,
  Hint: notNull("data"),
  History: (value, path) => uniqueIds(value.entries, under(path, "entries")),
  Interaction: message,
  MessageEntry: (value, path) => {
    uniqueIds(value.parts, under(path, "parts"));
    message(value, path);
  },
  MultiSelectField: (value, path) => {
    options(value, path);
    checkDefault(value, path);
  },
  NoticeEntry: message,
  NumberField: bounded("min", "max"),
  ProcessOutput: (value, path) => {
    if (value.start > value.end) throw new Refused(under(path, "end"), "less than start");
  },
  ProcessReadResult: processRead,
  ProcessWriteParams: processWrite,
  ProgressElement: element,
  Queue: (value, path) => uniqueIds(value.items, under(path, "items")),
  SelectRequest: (value, path) => {
    options(value, path);
    const { min, max } = selectBounds(value);
    if (min > max) throw new Refused(under(path, "max"), "less than min");
  },
  SessionSnapshot: snapshot,
  StatusElement: (value, path) => element(value, path),
  StringField: bounded("minLength", "maxLength"),
  ToolEntry: (value, path) => {
    notNull("arguments")(value, path);
    message(value, path);
  },
  ViewElement: view,
};
