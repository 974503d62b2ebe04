/** Parses the parameters of `Content-Type` and `Content-Disposition`. */
import { decodeText } from '../domain/charset.ts';
import { decodeWords } from '../domain/encoded-words.ts';

/** Splits a value such as `text/plain; charset="utf-8"; name*0*=utf-8''a%20; name*1=b.txt` (RFC 2045 §5.1, RFC 2231). */
export function parseParameters(text: string): { value: string; parameters: Map<string, string> } {
  const pieces = withSemicolon(text.slice(0, 8_192)).match(/(?:"(?:[^"\\]|\\.)*"?|[^;"])+/gs) ?? [];
  const parameters = new Map<string, string>();
  const continued = new Map<string, { text: string; isEncoded: boolean }[]>();
  for (const piece of pieces.slice(1, 100)) {
    const equals = piece.indexOf('=');
    if (equals < 0) continue;
    const name = piece.slice(0, equals).trim().toLowerCase();
    const value = unquote(piece.slice(equals + 1).trim());
    const extended = /^([^*]+)(?:\*(\d{1,2}))?(\*)?$/.exec(name);
    if (extended?.[1] === undefined) continue;
    if (extended[2] === undefined && extended[3] === undefined) {
      // A boundary is not decoded, because it is compared byte by byte. File names are decoded, because people read them.
      if (!parameters.has(name)) parameters.set(name, name === 'boundary' ? value : decodeWords(value));
      continue;
    }
    const list = continued.get(extended[1]) ?? [];
    list[Number(extended[2] ?? 0)] = { text: value, isEncoded: extended[3] !== undefined };
    continued.set(extended[1], list);
  }
  for (const [name, list] of continued) parameters.set(name, joinContinued([...list]));
  return {
    value: withoutComments(pieces[0] ?? '')
      .trim()
      .toLowerCase(),
    parameters,
  };
}

/** Some senders put the first parameter on a folded line without a semicolon: `multipart/mixed⏎⇥boundary="a"`. */
const withSemicolon = (text: string): string => text.replace(/^(\s*[\w.+-]+\/[\w.+-]+)\s+(?=[\w*-]+\s*=)/, '$1; ');

/** @returns the text of a quoted string, or a token without the comment after it. `Invoice(1).pdf` is a token without a comment. */
function unquote(value: string): string {
  const quoted = /^"((?:[^"\\]|\\.)*)/s.exec(value);
  return quoted ? (quoted[1] ?? '').replace(/\\(.)/gs, '$1') : value.replace(/\s+\([^()]*\)$/, '');
}

const withoutComments = (text: string): string => text.replace(/\([^()]*\)/g, '');

function joinContinued(list: readonly ({ text: string; isEncoded: boolean } | undefined)[]): string {
  const charset = /^([^']*)'[^']*'/.exec(list[0]?.isEncoded ? list[0].text : '');
  const bytes = list.map((piece, index) => {
    const text = index === 0 && charset ? (piece?.text ?? '').slice(charset[0].length) : (piece?.text ?? '');
    return piece?.isEncoded
      ? text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
      : text;
  });
  const joined = bytes.join('');
  // Some senders put encoded words into continued parameters, so these are decoded too.
  return charset?.[1] ? decodeText(Buffer.from(joined, 'latin1'), charset[1]) : decodeWords(joined);
}
