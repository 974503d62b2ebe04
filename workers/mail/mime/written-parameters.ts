/** Parameters of a MIME header as they are written (RFC 2045 §5.1), for mail programs, which decode them themselves. Pure. */

export interface WrittenParameters {
  /** Value before the parameters, in lower case. */
  readonly value: string;
  /** Values by name in lower case. The pieces of a value in several (RFC 2231 §3) are joined. */
  readonly parameters: Readonly<Record<string, string>>;
}

const PIECE = /^([^*]+)\*(\d{1,3})(\*?)$/;

/** @param text the unfolded value of the field, one character per byte. */
export function readWrittenParameters(text: string): WrittenParameters {
  const [value = '', ...rest] = splitParameters(text);
  const parameters = new Map<string, string>();
  const pieces = new Map<string, { text: string; isEncoded: boolean }[]>();
  for (const each of rest) {
    const equals = each.indexOf('=');
    const name = each.slice(0, equals).trim().toLowerCase();
    if (equals <= 0 || name === '' || parameters.has(name)) continue;
    const written = unquote(each.slice(equals + 1).trim());
    const piece = PIECE.exec(name);
    if (!piece) parameters.set(name, written);
    else {
      const list = pieces.get(piece[1] ?? '') ?? [];
      list[Number(piece[2])] = { text: written, isEncoded: piece[3] === '*' };
      pieces.set(piece[1] ?? '', list);
    }
  }
  for (const [name, list] of pieces) {
    const known = list.filter(Boolean);
    const isEncoded = known.some((piece) => piece.isEncoded);
    const joined = known.map((piece) => (isEncoded && !piece.isEncoded ? escapeText(piece.text) : piece.text)).join('');
    parameters.set(isEncoded ? `${name}*` : name, joined);
  }
  return { value: value.trim().toLowerCase(), parameters: Object.fromEntries(parameters) };
}

const escapeText = (text: string): string =>
  text.replace(/[^A-Za-z0-9!#$&+.^_`{|}~-]/g, (letter) => `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** Splits at semicolons outside quotes, and leaves comments out. */
function splitParameters(text: string): string[] {
  const parts: string[] = [''];
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at] ?? '';
    if (depth === 0 && letter === '"') {
      const quoted = /^"(?:[^"\\]|\\.)*"?/s.exec(text.slice(at))?.[0] ?? letter;
      parts[parts.length - 1] += quoted;
      at += quoted.length - 1;
    } else if (letter === '(') depth += 1;
    else if (letter === ')' && depth > 0) depth -= 1;
    else if (depth === 0 && letter === ';') parts.push('');
    else if (depth === 0) parts[parts.length - 1] += letter;
  }
  return parts;
}

function unquote(value: string): string {
  const quoted = /^"((?:[^"\\]|\\.)*)/s.exec(value);
  return quoted ? (quoted[1] ?? '').replace(/\\(.)/gs, '$1') : value;
}
