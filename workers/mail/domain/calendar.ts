/** Reads iCalendar text (RFC 5545 §3.1) into components and properties. Pure. Broken lines are skipped. */

export interface CalendarProperty {
  /** Name of the property in upper case, as are the names of parameters. */
  readonly name: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly value: string;
}

export interface CalendarComponent {
  readonly name: string;
  readonly properties: readonly CalendarProperty[];
  readonly components: readonly CalendarComponent[];
}

const LINES_MAX = 20_000;
const DEPTH_MAX = 5;

interface Open {
  readonly name: string;
  readonly properties: CalendarProperty[];
  readonly components: CalendarComponent[];
}

/** @returns the first calendar of the text; null if there is none. */
export function parseCalendar(text: string): CalendarComponent | null {
  const open: Open[] = [];
  const lines = text.replace(/\r?\n[ \t]/g, '').split(/\r?\n/, LINES_MAX);
  for (const line of lines) {
    const property = parseLine(line);
    if (property === null) continue;
    const name = property.value.trim().toUpperCase();
    if (property.name === 'BEGIN') {
      const component: Open = { name, properties: [], components: [] };
      if (open.length === DEPTH_MAX || (open.length === 0 && name !== 'VCALENDAR')) continue;
      open.at(-1)?.components.push(component);
      open.push(component);
    } else if (property.name === 'END') {
      if (open.length === 1 && name === 'VCALENDAR') return open[0] ?? null;
      if (open.at(-1)?.name === name) open.pop();
    } else {
      open.at(-1)?.properties.push(property);
    }
  }
  return open[0] ?? null;
}

/** Parses a line of the form `NAME;PARAMETER=value:value`. Parameter values may be quoted, and then contain `:`, `;` and `,`. */
function parseLine(line: string): CalendarProperty | null {
  const [head = '', ...parts] =
    line.match(/^[A-Za-z0-9-]+|;[A-Za-z0-9-]+=(?:"[^"]*"|[^";:,]*)(?:,(?:"[^"]*"|[^";:,]*))*/gy) ?? [];
  const at = head.length + parts.join('').length;
  if (head === '' || line[at] !== ':') return null;
  const parameters = parts.map((part): [string, string] => {
    const equals = part.indexOf('=');
    return [part.slice(1, equals).toUpperCase(), part.slice(equals + 1).replaceAll('"', '')];
  });
  return { name: head.toUpperCase(), parameters: new Map(parameters), value: line.slice(at + 1) };
}

export const findProperty = ({ properties }: CalendarComponent, name: string): CalendarProperty | null =>
  properties.find((property) => property.name === name) ?? null;

/** @returns the text of a property, with its escapes decoded (RFC 5545 §3.3.11). */
export const toText = (property: CalendarProperty | null): string =>
  (property?.value ?? '')
    .replace(/\\([nN\\;,])/g, (_, escaped: string) => (/n/i.test(escaped) ? '\n' : escaped))
    .trim();
