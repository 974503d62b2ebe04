/** Header fields that the author of a message sets in addition to the usual ones. Pure. */

export interface HeaderField {
  readonly name: string;
  readonly value: string;
}

/**
 * Field that the service adds to the stored headers of mail to a masked address that neither To nor Cc names. Fields of this name in a
 * message from outside are left out.
 */
export const HIDDEN_RECIPIENT = 'X-Tessera-Recipient';

export const IMPORTANCES = ['high', 'normal', 'low'] as const;
export type Importance = (typeof IMPORTANCES)[number];

/**
 * Fields that an author cannot set this way: the service writes them itself, other members of the request set them, or they are
 * trace fields.
 */
const RESERVED =
  /^(?:from|sender|to|cc|bcc|reply-to|subject|date|message-id|in-reply-to|references|mime-version|content-.*|return-path|delivered-to|received(?:-.*)?|resent-.*|dkim-signature|domainkey-signature|arc-.*|authentication-results|importance|priority|x-priority|x-msmail-priority|x-tessera-.*)$/i;

export const isReservedField = (name: string): boolean => RESERVED.test(name);

/** Header fields for an importance. `Importance` is defined in RFC 2156 §5.3.4; some programs read `X-Priority` instead. */
const IMPORTANCE_FIELDS: Readonly<Record<Importance, readonly HeaderField[]>> = {
  high: [
    { name: 'Importance', value: 'high' },
    { name: 'X-Priority', value: '1' },
  ],
  normal: [],
  low: [
    { name: 'Importance', value: 'low' },
    { name: 'X-Priority', value: '5' },
  ],
};

interface Written {
  readonly headers?: readonly HeaderField[] | undefined;
  readonly importance?: Importance | undefined;
}

/** @returns the header fields for the members `headers` and `importance` of a request. */
export const toHeaderFields = ({ headers = [], importance = 'normal' }: Written): HeaderField[] => [
  ...headers,
  ...IMPORTANCE_FIELDS[importance],
];

/** @returns the members `headers` and `importance` for the header fields of a stored message. */
export const fromHeaderFields = (fields: readonly HeaderField[]) => ({
  headers: fields.filter(({ name }) => !isReservedField(name)),
  importance: readImportance(fields),
});

/** Reads the importance from `Importance`, otherwise from `X-Priority`: 1 and 2 are high, 4 and 5 low. */
export function readImportance(headers: readonly HeaderField[]): Importance {
  const read = (name: string) => headers.find((field) => field.name.toLowerCase() === name)?.value.trim() ?? '';
  const named = read('importance').toLowerCase();
  const known = IMPORTANCES.find((importance) => importance === named);
  if (known) return known;
  const [digit = ''] = read('x-priority');
  return '12'.includes(digit) && digit !== '' ? 'high' : '45'.includes(digit) && digit !== '' ? 'low' : 'normal';
}
