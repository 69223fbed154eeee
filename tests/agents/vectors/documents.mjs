// The check of a document: no raw HTML, and links and images with absolute http(s) addresses (session protocol §5).
//
// A reader for production asks a CommonMark parser. This one knows the part of CommonMark that decides whether a
// `<` or a `[` is markup: code, escapes, autolinks, tags, links, images and reference definitions.

import { Refused } from "./plain.mjs";

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const DEFINITION = /^ {0,3}\[((?:\\.|[^\\\[\]])+)\]:\s*(?:<([^<>\n]*)>|(\S+))/;
const AUTOLINK = /^<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*)>/;
const MAIL = /^<[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(?:\.[\w-]+)*>/;
const ATTRIBUTE = String.raw`\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>\x60]+|'[^']*'|"[^"]*"))?`;
const HTML = new RegExp(
  `^(?:<[A-Za-z][A-Za-z0-9-]*(?:${ATTRIBUTE})*\\s*/?>|</[A-Za-z][A-Za-z0-9-]*\\s*>|<!--|<\\?|<![A-Za-z]|<!\\[CDATA\\[)`,
);
const TARGET = /^\(\s*(?:<([^<>\n]*)>|((?:\\.|[^\s()\\]|\([^\s()]*\))*))(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\)/;
const REFERENCE = /^\[((?:\\.|[^\\\[\]])*)\]/;

/** Refuse a document whose text has raw HTML or a link to anything but http(s). */
export function checkMarkdown(text, path) {
  const { prose, links } = withoutCode(text);
  for (let at = 0; at < prose.length; ) {
    const rest = prose.slice(at);
    if (rest[0] === "\\") at += 2;
    else if (rest[0] === "`") at += codeSpan(rest);
    else if (rest[0] === "<") at += angle(rest, path);
    else if (rest[0] === "]") at += 1 + target(rest.slice(1), prose.slice(0, at), links, path);
    else at += 1;
  }
}

/** The text without code blocks, and the addresses of its reference definitions by label. */
function withoutCode(text) {
  const prose = [];
  const links = new Map();
  let fence;
  let blank = true;
  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1];
    if (fence) {
      if (mark?.startsWith(fence) && line.trim() === mark) fence = undefined;
      continue;
    }
    if (mark) {
      fence = mark;
      continue;
    }
    const definition = DEFINITION.exec(line);
    if (definition) links.set(label(definition[1]), definition[2] ?? definition[3]);
    else if (!(blank && /^ {4}/.test(line))) prose.push(line);
    blank = line.trim() === "" || (blank && /^ {4}/.test(line));
  }
  return { prose: prose.join("\n"), links };
}

const label = (text) => text.trim().replace(/\s+/g, " ").toLowerCase();

/** The length of a code span, or of the backticks that open none. */
function codeSpan(rest) {
  const ticks = /^`+/.exec(rest)[0];
  const end = new RegExp(`(?<!\`)${ticks}(?!\`)`).exec(rest.slice(ticks.length));
  return end ? ticks.length * 2 + end.index : ticks.length;
}

/** The length of an autolink. Refuses a tag and an address of mail. */
function angle(rest, path) {
  const link = AUTOLINK.exec(rest);
  if (link) checkAddress(link[1], path);
  else if (MAIL.test(rest)) throw new Refused(path, "an address of mail");
  else if (HTML.test(rest)) throw new Refused(path, "raw HTML");
  return link ? link[0].length : 1;
}

/** The length of what follows the `]` of a link or an image: `(address)`, `[label]` or nothing. */
function target(rest, before, links, path) {
  const text = /\[((?:\\.|[^\\\[\]])*)$/.exec(before)?.[1];
  if (text === undefined) return 0;
  const inline = TARGET.exec(rest);
  if (inline) {
    checkAddress(inline[1] ?? inline[2], path);
    return inline[0].length;
  }
  const reference = REFERENCE.exec(rest);
  const found = links.get(label(reference?.[1] || text));
  if (found !== undefined) checkAddress(found, path);
  return found !== undefined && reference ? reference[0].length : 0;
}

function checkAddress(written, path) {
  const address = written
    .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replace(/&#[xX]([0-9A-Fa-f]+);/g, (_, code) => String.fromCodePoint(Number.parseInt(code, 16)));
  if (!/^https?:\/\/[^/?#:]/i.test(address)) throw new Refused(path, "only absolute http(s) links are accepted");
}
