/**
 * Limits what one request may cost. An isolate has 128 MB for all its requests, and a short request can refer to its own answers or
 * nest values so that they multiply. So bytes are counted before a value is copied or written as text. Pure: no I/O, no clock.
 */

/**
 * Maximum of bytes of an answer in JSON, and of the answers of one JMAP request plus the bytes that its references to earlier answers
 * bring. An answer is in memory as values, as text and as bytes, which takes up to five times its size.
 */
export const ANSWER_BYTES_MAX = 10_000_000;

/** Thrown by a budget that is used up. The protocol converts it to its own error. */
export class OverBudgetError extends Error {}

/** Depth to which a value may nest. JSON.stringify would exhaust the stack of deep values. */
const VALUE_DEPTH_MAX = 200;

/**
 * Bytes that one request may still use. By design, an attempt beyond the budget uses it up: each further attempt then fails without
 * work.
 */
export class RequestBudget {
  #leftBytes: number;

  constructor(bytesMax: number) {
    this.#leftBytes = bytesMax;
  }

  get leftBytes(): number {
    return this.#leftBytes;
  }

  /** Uses bytes of the budget. @throws OverBudgetError if fewer are left. */
  spend(bytes: number): void {
    if (bytes > this.#leftBytes) {
      this.exhaust();
      throw new OverBudgetError('The answers of a request exceed its budget.');
    }
    this.#leftBytes -= bytes;
  }

  /** Uses all that is left, because an attempt exceeded a copy of this budget. */
  exhaust(): void {
    this.#leftBytes = 0;
  }

  /** Uses as many bytes as the value has as JSON. @throws OverBudgetError if fewer are left, or if the value nests too deeply. */
  spendJson(value: unknown): void {
    this.spend(measureJson(value, this.#leftBytes) ?? Number.POSITIVE_INFINITY);
  }

  /** @returns a budget of the bytes that are left here, for the parts of a value that is counted as a whole later. */
  copy(): RequestBudget {
    return new RequestBudget(this.#leftBytes);
  }
}

/**
 * Measures a value of JSON as JSON.stringify would write it in UTF-8, without writing it. A value that occurs twice counts twice.
 * @returns null if it has more than `bytesMax` bytes or nests too deeply. The rest of such a value is not visited.
 */
export function measureJson(value: unknown, bytesMax: number): number | null {
  const left = subtractJson(value, bytesMax, subtractString, 1);
  return left < 0 ? null : bytesMax - left;
}

/**
 * Whether `measureJson` would return a number. Takes a fifth of its time for a value far below the limit, because it then looks only at
 * the lengths of texts.
 */
export const fitsJson = (value: unknown, bytesMax: number): boolean =>
  subtractJson(value, bytesMax, subtractLongest, 1) >= 0 || measureJson(value, bytesMax) !== null;

type SubtractText = (text: string, left: number) => number;

/** @returns the bytes that are left after the value; less than zero if it does not fit. */
function subtractJson(value: unknown, left: number, subtractText: SubtractText, depth: number): number {
  if (left < 0) return left;
  if (typeof value === 'string') return subtractText(value, left);
  if (typeof value === 'number') return left - (Number.isFinite(value) ? String(value).length : 4);
  if (typeof value === 'boolean') return left - (value ? 4 : 5);
  if (value === null || typeof value !== 'object') return left - 4;
  if (depth > VALUE_DEPTH_MAX) return -1;
  // Brackets, and a comma after each member but the last.
  let rest = left - 2;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (rest < 0) return rest;
      rest = subtractJson(item, rest, subtractText, depth + 1) - (count > 0 ? 1 : 0);
      count += 1;
    }
    return rest;
  }
  for (const key of Object.keys(value)) {
    if (rest < 0) return rest;
    const member = (value as Readonly<Record<string, unknown>>)[key];
    if (member === undefined) continue;
    rest = subtractJson(member, subtractText(key, rest) - 1, subtractText, depth + 1) - (count > 0 ? 1 : 0);
    count += 1;
  }
  return rest;
}

function subtractString(text: string, left: number): number {
  let rest = left - 2 - text.length;
  for (let at = 0; at < text.length && rest >= 0; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22 || code === 0x5c) rest -= 1;
    else if (code < 0x20) rest -= isShortEscape(code) ? 1 : 5;
    else if (code >= 0xd800 && code <= 0xdfff) {
      // A pair of surrogates has four bytes. A lone one is written as an escape of six.
      const isPair = code < 0xdc00 && /^[\udc00-\udfff]/.test(text.charAt(at + 1));
      rest -= isPair ? 2 : 5;
      if (isPair) at += 1;
    } else if (code > 0x7ff) rest -= 2;
    else if (code > 0x7f) rest -= 1;
  }
  return rest;
}

/** Maximum of bytes of a UTF-16 unit: a control character is written as an escape of six. */
const UNIT_BYTES_MAX = 6;
const subtractLongest: SubtractText = (text, left) => left - 2 - UNIT_BYTES_MAX * text.length;

/** Backspace, tab, line feed, form feed and carriage return are written as two characters. */
const isShortEscape = (code: number): boolean => code >= 8 && code <= 13 && code !== 11;

/** Bounds of a document of JSON or XML. */
export interface DocumentBounds {
  readonly depthMax: number;
  /** Maximum of values: members, items and the values in them. A parsed value needs up to 50 times the bytes of its text. */
  readonly valuesMax: number;
}

/**
 * Tests the text of JSON against bounds before it is parsed. Text that is not JSON may pass.
 * @returns the bound that is exceeded; null if there is none.
 */
export function findExceededBound(
  json: Uint8Array,
  { depthMax, valuesMax }: DocumentBounds,
): keyof DocumentBounds | null {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === 0x22) at = findEndOfString(json, at);
    else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      values += 1;
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    else if (byte === 0x2c) values += 1;
    if (depth > depthMax) return 'depthMax';
    if (values > valuesMax) return 'valuesMax';
  }
  return null;
}

/**
 * Tests the text of XML against bounds before it is parsed. Elements, attributes, comments and the like count as values. Text that is not
 * well-formed may pass.
 * @returns the bound that is exceeded; null if there is none.
 */
export function findExceededXmlBound(
  xml: string,
  { depthMax, valuesMax }: DocumentBounds,
): keyof DocumentBounds | null {
  let depth = 0;
  let values = 0;
  // Whether the scan is in an opening tag, in other markup, or in text.
  let place: 'text' | 'tag' | 'markup' = 'text';
  let quote = 0;
  for (let at = 0; at < xml.length; at += 1) {
    const code = xml.charCodeAt(at);
    if (quote !== 0) {
      if (code === quote) quote = 0;
    } else if (code === LESS) {
      const next = xml.charCodeAt(at + 1);
      place = next === SLASH || next === EXCLAMATION || next === QUESTION ? 'markup' : 'tag';
      if (next !== SLASH) values += 1;
      depth += next === SLASH ? -1 : place === 'tag' ? 1 : 0;
    } else if (place === 'text') continue;
    else if (code === GREATER) {
      if (place === 'tag' && xml.charCodeAt(at - 1) === SLASH) depth -= 1;
      place = 'text';
    } else if (place === 'tag') {
      if (code === EQUALS) values += 1;
      else if (code === DOUBLE_QUOTE || code === SINGLE_QUOTE) quote = code;
    }
    if (depth > depthMax) return 'depthMax';
    if (values > valuesMax) return 'valuesMax';
  }
  return null;
}
const [LESS, GREATER, SLASH, EXCLAMATION, QUESTION, EQUALS, DOUBLE_QUOTE, SINGLE_QUOTE] = [...'<>/!?="\''].map(
  (character) => character.charCodeAt(0),
);

/** @param start place of the opening quote. @returns the place of the closing quote, or the end of the text. */
function findEndOfString(json: Uint8Array, start: number): number {
  for (let at = start + 1; at < json.length; at += 1) {
    if (json[at] === 0x22) return at;
    if (json[at] === 0x5c) at += 1;
  }
  return json.length;
}
