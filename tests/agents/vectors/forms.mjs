// Form fields and the answers of interactions (session protocol §5, §6).

import { Refused, has, under } from "./plain.mjs";

/** What is wrong with `value` for a declared field; undefined for nothing. */
export function fieldProblem(field, value) {
  switch (field.type) {
    case "string":
      return stringProblem(field, value);
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be true or false";
    case "number":
      return numberProblem(field, value);
    case "enum":
      return field.options.some((option) => option.id === value) ? undefined : "must be one of the options";
    case "multi_select":
      return choiceProblem(field, value);
  }
}

function stringProblem(field, value) {
  if (typeof value !== "string") return "must be text";
  if (value === "") return field.required ? "is required" : undefined;
  const length = [...value].length; // Unicode scalar values
  if (length < (field.minLength ?? 0)) return "too short";
  return length > (field.maxLength ?? Infinity) ? "too long" : undefined;
}

function numberProblem(field, value) {
  if (typeof value !== "number") return "must be a number";
  if (field.integer && !Number.isInteger(value)) return "must be a whole number";
  return value < (field.min ?? -Infinity) || value > (field.max ?? Infinity) ? "out of bounds" : undefined;
}

function choiceProblem(field, value) {
  const ids = new Set(field.options.map((option) => option.id));
  if (!Array.isArray(value) || !value.every((one) => ids.has(one))) return "must be some of the options";
  if (new Set(value).size !== value.length) return "the same option twice";
  if (value.length === 0) return field.required ? "is required" : undefined;
  return value.length < (field.min ?? 0) || value.length > (field.max ?? Infinity) ? "too few or many" : undefined;
}

/** The values of a form answer or of an action against the declared fields. */
export function checkValues(fields, values, path) {
  for (const name of Object.keys(values)) {
    if (!fields.some((field) => field.id === name)) throw new Refused(under(path, name), "no field has this id");
  }
  for (const field of fields) {
    if (!has(values, field.id)) {
      if (field.required) throw new Refused(under(path, field.id), "is required");
      continue;
    }
    const problem = fieldProblem(field, values[field.id]);
    if (problem) throw new Refused(under(path, field.id), problem);
  }
}

const ANSWERS = {
  approval: "ApprovalAnswer",
  confirm: "ConfirmAnswer",
  select: "SelectAnswer",
  input: "InputAnswer",
  form: "FormAnswer",
};

/** The answer to a request, checked against what the request offers. */
export function checkAnswer(shapes, request, value) {
  const answer = shapes.read(ANSWERS[request.kind], value, "answer");
  if (request.kind === "approval" && !request.options.some((one) => one.id === answer.option)) {
    throw new Refused("answer.option", "must be one of the options");
  }
  if (request.kind === "select") {
    const problem = choiceProblem({ options: request.options }, answer.options);
    const { min, max } = selectBounds(request);
    const chosen = answer.options.length;
    if (problem || chosen < min || chosen > max) {
      throw new Refused("answer.options", problem ?? `choose ${min} to ${max}`);
    }
  }
  if (request.kind === "form") {
    const { form } = request;
    if (answer.action === form.cancel.id) {
      if (has(answer, "values")) throw new Refused("answer.values", "cancel takes no values");
    } else if (answer.action === form.submit.id) {
      checkValues(form.fields, answer.values ?? {}, "answer.values");
    } else throw new Refused("answer.action", "must be submit or cancel");
  }
  return answer;
}

/** How many options an answer has: one, where a bound is absent. */
export const selectBounds = ({ min = 1, max = 1 }) => ({ min, max });
