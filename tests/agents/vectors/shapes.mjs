// The reader of typed shapes: `felan protocol schema` is its table, rules.mjs has what a schema cannot express.
//
// Reading a value checks it and returns a copy without the members that its shape does not have. Free JSON (an
// object schema without properties) is kept whole.

import { Refused, checkEntries, define, has, isObject, under, utf8, weight } from "./plain.mjs";
import { RULES } from "./rules.mjs";

export class Shapes {
  /** `document`: the output of `felan protocol schema`, every shape under `$defs`. */
  constructor(document) {
    this.defs = document.$defs;
  }

  has(name) {
    return has(this.defs, name);
  }

  /** The shape of a known type of event; undefined for another type. */
  eventShape(type) {
    return this.#tagOf(this.defs.KnownEvent.anyOf).shapes.get(type);
  }

  /** The value as shape `name`. Throws `Refused` with the place. */
  read(name, value, path = "") {
    const read = this.#read(this.defs[name], value, path);
    RULES[name]?.(read, path);
    return read;
  }

  #read(schema, value, path) {
    if (schema === true) return value;
    if (schema === false) throw new Refused(path, "is not allowed here");
    let read = value;
    if (schema.$ref) read = this.read(schema.$ref.split("/").pop(), value, path);
    if (schema.anyOf) read = this.#alternative(schema, value, path);
    if (schema.enum && !schema.enum.includes(value)) throw new Refused(path, `must be one of ${schema.enum}`);
    if (has(schema, "const") && schema.const !== value) throw new Refused(path, `must be ${schema.const}`);
    const types = [schema.type ?? []].flat();
    if (types.length && !types.some((type) => TYPES[type](value))) throw new Refused(path, `must be ${types}`);
    if (typeof value === "string") checkText(schema, value, path);
    if (typeof value === "number") checkNumber(schema, value, path);
    if (Array.isArray(value)) read = this.#array(schema, value, path);
    if (isObject(value) && !schema.anyOf && !schema.$ref) read = this.#object(schema, value, path);
    this.#conditions(schema, value, path);
    if (has(schema, "x-maxEncodedBytes") && weight(read) > schema["x-maxEncodedBytes"]) {
      throw new Refused(path, `more than ${schema["x-maxEncodedBytes"]} bytes`);
    }
    if (has(schema, "x-maxEntries")) checkEntries(read, schema["x-maxEntries"], path);
    return read;
  }

  #array(schema, value, path) {
    if (value.length > (schema.maxItems ?? Infinity)) throw new Refused(path, `more than ${schema.maxItems}`);
    if (value.length < (schema.minItems ?? 0)) throw new Refused(path, `fewer than ${schema.minItems}`);
    if (!schema.items) return value;
    return value.map((item, index) => this.#read(schema.items, item, `${path}[${index}]`));
  }

  #object(schema, value, path) {
    const { properties = {}, patternProperties = {}, additionalProperties, propertyNames } = schema;
    for (const name of schema.required ?? []) {
      if (!has(value, name)) throw new Refused(under(path, name), "is required");
    }
    const typed = has(schema, "properties") && additionalProperties === undefined;
    const read = {};
    for (const [name, item] of Object.entries(value)) {
      if (propertyNames) this.#read(propertyNames, name, under(path, name));
      const pattern = Object.keys(patternProperties).find((one) => new RegExp(one, "u").test(name));
      if (has(properties, name)) define(read, name, this.#read(properties[name], item, under(path, name)));
      else if (pattern) define(read, name, this.#read(patternProperties[pattern], item, under(path, name)));
      else if (additionalProperties === false) {
        // The names of a configuration are data: the place is the configuration.
        throw new Refused(schema.patternProperties ? path : under(path, name), `no member is named ${name}`);
      }
      else if (isObject(additionalProperties)) {
        define(read, name, this.#read(additionalProperties, item, under(path, name)));
      } else if (!typed) define(read, name, item);
    }
    return read;
  }

  /** allOf, oneOf, not, if: rules that check and do not change the value. */
  #conditions(schema, value, path) {
    for (const one of schema.allOf ?? []) this.#read(one, value, path);
    if (schema.oneOf) {
      const fits = schema.oneOf.filter((one) => this.#fits(one, value));
      if (fits.length !== 1) throw new Refused(path, "exactly one of the alternatives is required");
    }
    if (schema.not && this.#fits(schema.not, value)) throw new Refused(path, "is not allowed here");
    if (schema.if) {
      const then = this.#fits(schema.if, value) ? schema.then : schema.else;
      if (then) this.#read(then, value, path);
    }
  }

  #fits(schema, value) {
    try {
      this.#read(schema, value, "");
      return true;
    } catch (error) {
      if (error instanceof Refused) return false;
      throw error;
    }
  }

  /** One alternative of a union. A tag selects it, and no other is tried; else its JSON type does. */
  #alternative(schema, value, path) {
    const tag = this.#tagOf(schema.anyOf);
    if (tag !== undefined) {
      if (!isObject(value)) throw new Refused(path, "must be an object");
      if (!has(value, tag.name)) throw new Refused(under(path, tag.name), "is required");
      const found = tag.shapes.get(value[tag.name]);
      if (!found) throw new Refused(under(path, tag.name), `must be one of ${[...tag.shapes.keys()]}`);
      return this.read(found, value, path);
    }
    let first;
    for (const one of schema.anyOf) {
      try {
        return this.#read(one, value, path);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        // The place below the value says more than "none of these".
        if (first === undefined || error.path.length > first.path.length) first = error;
      }
    }
    throw first;
  }

  /** The member whose one value names each alternative: `kind` or `type`; undefined where there is none. */
  #tagOf(alternatives) {
    const names = alternatives.map((one) => one.$ref?.split("/").pop());
    for (const name of ["kind", "type"]) {
      const values = names.map((shape) => shape && this.defs[shape].properties?.[name]?.enum);
      if (values.every((one) => one?.length === 1)) {
        return { name, shapes: new Map(values.map(([value], index) => [value, names[index]])) };
      }
    }
    return undefined;
  }
}

const TYPES = {
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  integer: Number.isInteger,
  number: (value) => typeof value === "number",
  array: Array.isArray,
  object: isObject,
  null: (value) => value === null,
};

/** A `maxLength` counts UTF-8 bytes, as the `$comment` beside it has it. */
function checkText(schema, value, path) {
  if (schema.maxLength !== undefined && utf8(value) > schema.maxLength) {
    throw new Refused(path, `more than ${schema.maxLength} bytes`);
  }
  if ([...value].length < (schema.minLength ?? 0)) throw new Refused(path, `shorter than ${schema.minLength}`);
  if (schema.pattern && !new RegExp(schema.pattern, "u").test(value)) throw new Refused(path, "of another form");
}

function checkNumber(schema, value, path) {
  if (value < (schema.minimum ?? -Infinity)) throw new Refused(path, `less than ${schema.minimum}`);
  if (value > (schema.maximum ?? Infinity)) throw new Refused(path, `more than ${schema.maximum}`);
}
