/** Header blocks of messages, as text with one character per byte. Pure. */

export interface HeaderField {
  /** In lower case. */
  readonly name: string;
  /** The whole field with its line ends, as it came. */
  readonly raw: string;
}

/** Splits a header block into its fields. Lines that are no field are skipped. */
export function readFields(header: string): HeaderField[] {
  const fields: HeaderField[] = [];
  for (const raw of header.match(/[^\n]*\n(?:[ \t][^\n]*\n)*|[^\n]+$/g) ?? []) {
    const name = /^([!-9;-~]+)[ \t]*:/.exec(raw)?.[1];
    if (name) fields.push({ name: name.toLowerCase(), raw });
  }
  return fields;
}

/** @returns the value of the first field of a name, unfolded; null without one. */
export function readValue(fields: readonly HeaderField[], name: string): string | null {
  const field = fields.find((each) => each.name === name);
  if (!field) return null;
  return field.raw
    .slice(field.raw.indexOf(':') + 1)
    .replace(/\r?\n(?=[ \t])/g, '')
    .replace(/[\r\n\0]/g, '')
    .trim();
}

/** @returns a header block of only the fields with these names, or of all others, with its empty line (RFC 3501 §6.4.5). */
export function selectFields(header: string, names: readonly string[], isExcluding: boolean): string {
  const wanted = new Set(names.map((name) => name.toLowerCase()));
  const kept = readFields(header).filter(({ name }) => wanted.has(name) !== isExcluding);
  return `${kept.map(({ raw }) => (raw.endsWith('\n') ? raw : `${raw}\r\n`)).join('')}\r\n`;
}
