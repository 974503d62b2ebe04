/**
 * Texts for values that a schema refuses. Each completes the name of its member, as the messages of schemas do:
 * "points must be at least 0". The texts of zod are for developers of schemas and never reach a client.
 */
import type { z } from '@hono/zod-openapi';

type Issue = z.core.$ZodRawIssue;

const UNKNOWN_FORM = 'does not have the documented form';

/** Types of JSON by their names in zod. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  nan: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  tuple: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

/** Formats of strings by their names in zod. */
const FORMATS: Readonly<Record<string, string>> = {
  email: 'a mail address',
  url: 'a URL',
  uuid: 'a UUID',
  datetime: 'a time such as 2026-11-05T09:30:00Z',
  date: 'a date such as 2026-11-05',
  base64: 'Base64',
  base64url: 'Base64 for URLs',
};

/** Units of sizes, one and many. Numbers have none. */
const UNITS: Readonly<Record<string, readonly [string, string]>> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
  set: ['entry', 'entries'],
  map: ['entry', 'entries'],
  file: ['byte', 'bytes'],
};

function describeSize(bound: string, size: number | bigint, origin: string): string {
  const unit = UNITS[origin];
  if (unit === undefined) return `must be ${bound} ${size}`;
  return `must have ${bound} ${size} ${Number(size) === 1 ? unit[0] : unit[1]}`;
}

const listValues = (values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join(', ');

function describeFormat({ format }: z.core.$ZodIssueInvalidStringFormat | Issue): string {
  const name = FORMATS[String(format)];
  return name === undefined ? UNKNOWN_FORM : `must be ${name}`;
}

/** The error map of zod (`localeError`) for issues whose schema has no message of its own. */
export function describeIssue(issue: Issue): string {
  // A discriminator that is missing is reported at its own path, with the object as the input.
  const isMissing = issue.input === undefined || ('discriminator' in issue && isWithout(issue));
  if (isMissing && issue.code !== 'custom') return 'required';
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] === undefined ? UNKNOWN_FORM : `must be ${TYPES[issue.expected]}`;
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${listValues(issue.values)}`;
    case 'too_small':
      return describeSize(
        issue.exact ? 'exactly' : issue.inclusive === false ? 'more than' : 'at least',
        issue.minimum,
        issue.origin,
      );
    case 'too_big':
      return describeSize(
        issue.exact ? 'exactly' : issue.inclusive === false ? 'less than' : 'at most',
        issue.maximum,
        issue.origin,
      );
    case 'invalid_format':
      return describeFormat(issue);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return 'has an unknown member';
    default:
      return describeUnion(issue);
  }
}

const isWithout = ({ discriminator, input }: Issue): boolean =>
  typeof input === 'object' && input !== null && !(String(discriminator) in input);

/** A union tells its values only if it has a discriminator. */
const describeUnion = (issue: Issue): string =>
  Array.isArray(issue.options) && issue.options.length > 0
    ? `must be ${issue.options.length === 1 ? '' : 'one of '}${listValues(issue.options)}`
    : UNKNOWN_FORM;
