/** Items of FETCH (RFC 3501 §6.4.5). Pure. */
import type { SectionText } from './answers/body-structure.ts';
import { toImapString } from './answers/strings.ts';
import { type Argument, listOf, textOf } from './command.ts';

export interface SectionItem {
  readonly kind: 'section';
  /** The name in the answer, without a partial range. */
  readonly label: string;
  readonly path: readonly number[];
  readonly section: SectionText;
  readonly fields: readonly string[];
  readonly partial: { readonly from: number; readonly length: number } | null;
  readonly isPeek: boolean;
}
type Simple = 'UID' | 'FLAGS' | 'INTERNALDATE' | 'RFC822.SIZE' | 'MODSEQ' | 'ENVELOPE' | 'BODY' | 'BODYSTRUCTURE';
export type FetchItem = { readonly kind: Simple } | SectionItem;

const SIMPLE: ReadonlySet<string> = new Set<Simple>([
  'UID',
  'FLAGS',
  'INTERNALDATE',
  'RFC822.SIZE',
  'MODSEQ',
  'ENVELOPE',
  'BODY',
  'BODYSTRUCTURE',
]);
const FAST: readonly FetchItem[] = [{ kind: 'FLAGS' }, { kind: 'INTERNALDATE' }, { kind: 'RFC822.SIZE' }];
const ALL: readonly FetchItem[] = [...FAST, { kind: 'ENVELOPE' }];
const MACROS: Readonly<Record<string, readonly FetchItem[]>> = { FAST, ALL, FULL: [...ALL, { kind: 'BODY' }] };
const whole = { kind: 'section', path: [], fields: [], partial: null } as const;
const OLD: Readonly<Record<string, SectionItem>> = {
  RFC822: { ...whole, label: 'RFC822', section: null, isPeek: false },
  'RFC822.HEADER': { ...whole, label: 'RFC822.HEADER', section: 'HEADER', isPeek: true },
  'RFC822.TEXT': { ...whole, label: 'RFC822.TEXT', section: 'TEXT', isPeek: false },
};

/** @returns the items, or null if one is unknown. */
export function parseFetchItems(argument: Argument | undefined): FetchItem[] | null {
  const name = textOf(argument)?.toUpperCase() ?? '';
  const macro = MACROS[name];
  if (macro) return [...macro];
  const items = (listOf(argument) ?? [argument ?? null]).map(parseItem);
  return items.length > 0 && items.every((item) => item !== null) ? (items as FetchItem[]) : null;
}

function parseItem(argument: Argument): FetchItem | null {
  const name = textOf(argument)?.toUpperCase();
  if (name !== undefined) return SIMPLE.has(name) ? { kind: name as Simple } : (OLD[name] ?? null);
  if (argument === null || Array.isArray(argument) || argument.section === undefined) return null;
  const kind = String(argument.value).toUpperCase();
  if (kind !== 'BODY' && kind !== 'BODY.PEEK') return null;
  return parseSection(argument.section, argument.partial, kind === 'BODY.PEEK');
}

const SECTION = /^(?:(\d{1,9}(?:\.\d{1,9})*)(?:\.|$))?(HEADER\.FIELDS\.NOT|HEADER\.FIELDS|HEADER|TEXT|MIME)?$/i;

function parseSection(
  section: readonly Argument[],
  range: readonly number[] | undefined,
  isPeek: boolean,
): SectionItem | null {
  const written = section.length === 0 ? '' : textOf(section[0]);
  const match = written === null || written.endsWith('.') ? null : SECTION.exec(written);
  if (!match) return null;
  const path = match[1] ? match[1].split('.').map(Number) : [];
  const kind = (match[2]?.toUpperCase() ?? null) as SectionText;
  if (path.includes(0) || (kind === 'MIME' && path.length === 0)) return null;
  const fields = kind?.startsWith('HEADER.FIELDS')
    ? (listOf(section[1]) ?? []).map((field) => textOf(field) ?? '')
    : [];
  if (kind?.startsWith('HEADER.FIELDS') ? fields.length === 0 : section.length > 1) return null;
  const names = fields.length > 0 ? ` (${fields.map(toFieldName).join(' ')})` : '';
  const partial = range ? { from: range[0] ?? 0, length: range[1] ?? 0 } : null;
  if (partial && partial.length === 0) return null;
  return {
    kind: 'section',
    label: `BODY[${(written ?? '').toUpperCase()}${names}]`,
    path,
    section: kind,
    fields,
    partial,
    isPeek,
  };
}

const toFieldName = (name: string): string =>
  /^[!#$&'+\-./0-9:;<=>?@A-Z^_`a-z|}~]+$/.test(name) ? name : toImapString(name);

export const isMessageItem = (item: FetchItem): boolean =>
  item.kind === 'ENVELOPE' || item.kind === 'BODY' || item.kind === 'BODYSTRUCTURE' || item.kind === 'section';
