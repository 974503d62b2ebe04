/**
 * Compares the properties of an Email that a client sends back with the stored ones. A client may send a whole object, and a property
 * that does not change must not matter (RFC 8620 §5.3).
 */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import type { Arguments, Call, SetError } from '../protocol/method.ts';
import { invalidProperties } from '../protocol/standard.ts';
import { isBodyPartProperty } from './body-parts.ts';
import { isEmailProperty } from './email.ts';
import { toEmails } from './read-emails.ts';

const PART_LISTS: readonly string[] = ['bodyStructure', 'textBody', 'htmlBody', 'attachments'];

/** @param given properties other than keywords and mailboxes. @returns an error if one of them is unknown or would change. */
export async function findChangedProperty(call: Call, id: string, given: Arguments): Promise<Result<null, SetError>> {
  const names = Object.keys(given);
  const unknown = names.find((name) => !isEmailProperty(name));
  if (unknown !== undefined) return err(refuse(unknown));
  const read = await call.ask((mailbox) => mailbox.readEmails([id]));
  if (!read.ok) return err({ type: 'serverFail' });
  const [record] = read.value.emails;
  // The mailbox answers the update itself: the email does not exist.
  if (!record) return ok(null);
  const [stored = {}] = await toEmails(call, [record], names, {
    bodyProperties: listPartProperties(given),
    fetchTextBodyValues: false,
    fetchHTMLBodyValues: false,
    fetchAllBodyValues: true,
    maxBodyValueBytes: 0,
  });
  const changed = names.find((name) =>
    name === 'bodyValues' ? !haveValues(stored[name], given[name]) : !isSame(stored[name], given[name]),
  );
  return changed === undefined ? ok(null) : err(refuse(changed));
}

const refuse = (name: string): SetError =>
  invalidProperties([name.slice(0, 255)], 'Only keywords and mailboxIds can change.');

/** @returns the properties that the given parts have, because the client chose them when it read them. */
function listPartProperties(given: Arguments): string[] {
  const names = new Set<string>();
  const visit = (part: unknown): void => {
    if (Array.isArray(part)) for (const each of part) visit(each);
    else if (isObject(part)) {
      for (const name of Object.keys(part)) if (isBodyPartProperty(name)) names.add(name);
      visit(part.subParts);
    }
  };
  for (const list of PART_LISTS) visit(given[list]);
  return [...names];
}

const isObject = (value: unknown): value is Arguments =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** Whether the stored value equals the given one. Members that the client left out do not count. */
function isSame(stored: unknown, given: unknown): boolean {
  if (Array.isArray(given))
    return (
      Array.isArray(stored) && stored.length === given.length && given.every((each, at) => isSame(stored[at], each))
    );
  if (isObject(given)) return isObject(stored) && Object.keys(given).every((name) => isSame(stored[name], given[name]));
  return (stored ?? null) === (given ?? null);
}

/** Whether the given texts are those of the parts. A client that read a part's beginning has only that. */
function haveValues(stored: unknown, given: unknown): boolean {
  if (!isObject(stored) || !isObject(given)) return false;
  return Object.entries(given).every(([partId, value]) => {
    const own = stored[partId];
    if (!isObject(own) || !isObject(value)) return false;
    return value.isTruncated === true
      ? String(own.value).startsWith(String(value.value))
      : isSame(own.value, value.value);
  });
}
