/** Reads patches of an Email (RFC 8621 §4.6). Only keywords and mailboxes of an Email can change. */
import type { EmailPatch, MarkPatch } from '../../../../durable-objects/mail/contract/jmap.ts';

import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { DRAFT_KEYWORD, FLAG_KEYWORDS, toLabel } from '../../domain/keywords.ts';
import type { Arguments, Call, SetError } from '../protocol/method.ts';
import { invalidProperties, resolveId } from '../protocol/standard.ts';

/** @returns the properties of a patch that an Email cannot change. They may be sent back as they are (`unchanged-properties.ts`). */
export const listFixed = (patch: Arguments): Arguments =>
  Object.fromEntries(Object.entries(patch).filter(([key]) => !/^(?:keywords|mailboxIds)(?:\/|$)/.test(key)));

type Changes = Record<string, boolean>;

const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';

export function readEmailPatch(call: Call, patch: Arguments): Result<EmailPatch, SetError> {
  const keywords = readMembers(patch, 'keywords');
  if (!keywords.ok) return keywords;
  const mailboxes = readMembers(patch, 'mailboxIds');
  if (!mailboxes.ok) return mailboxes;
  const [other] = Object.keys(listFixed(patch));
  if (other !== undefined) return err(invalidProperties([other], 'Only keywords and mailboxIds can change.'));
  const marks = keywords.value === null ? ok(null) : toMarkPatch(keywords.value);
  if (!marks.ok) return marks;
  return ok({
    marks: marks.value,
    folders: Object.fromEntries(
      Object.entries(mailboxes.value?.changes ?? {}).map(([id, isIn]) => [resolveId(call, id), isIn]),
    ),
    replacesFolders: mailboxes.value?.isWhole ?? false,
  });
}

/**
 * Reads the members of `keywords` or `mailboxIds` that a patch changes. The RFC allows the values true and null; false, which some
 * clients write, counts as null.
 * @returns the members to set or remove; null if the patch does not change the property.
 */
function readMembers(
  patch: Arguments,
  property: string,
): Result<{ readonly isWhole: boolean; readonly changes: Changes } | null, SetError> {
  const whole = patch[property];
  const paths = Object.entries(patch).filter(([key]) => key.startsWith(`${property}/`));
  if (whole !== undefined && paths.length > 0)
    return err({ type: 'invalidPatch', description: `${property} is given as a whole and in parts.` });
  if (whole !== undefined) {
    const isSet = whole !== null && typeof whole === 'object' && Object.values(whole).every(isBoolean);
    if (!isSet) return err(invalidProperties([property]));
    return ok({ isWhole: true, changes: Object.fromEntries(Object.entries(whole).filter(([, isIn]) => isIn)) });
  }
  if (paths.length === 0) return ok(null);
  const changes: Changes = {};
  for (const [path, value] of paths) {
    const key = path.slice(property.length + 1);
    if (key.includes('/') || (value !== null && !isBoolean(value)))
      return err({ type: 'invalidPatch', description: `${path}: true or null is expected.` });
    changes[key.replaceAll('~1', '/').replaceAll('~0', '~')] = value === true;
  }
  return ok({ isWhole: false, changes });
}

function toMarkPatch({ isWhole, changes }: { isWhole: boolean; changes: Changes }): Result<MarkPatch, SetError> {
  const labels: Changes = {};
  const flags: { -readonly [Flag in keyof Omit<MarkPatch, 'labels' | 'replacesLabels'>]: boolean | undefined } = {};
  const flagOf = (keyword: string) =>
    keyword === DRAFT_KEYWORD ? ('isDraft' as const) : FLAG_KEYWORDS[keyword as keyof typeof FLAG_KEYWORDS];
  if (isWhole) for (const keyword of [...Object.keys(FLAG_KEYWORDS), DRAFT_KEYWORD]) flags[flagOf(keyword)] = false;
  for (const [keyword, isSet] of Object.entries(changes)) {
    const flag = flagOf(keyword.toLowerCase());
    const label = toLabel(keyword);
    if (flag) flags[flag] = isSet;
    else if (label === null) return err(invalidProperties([`keywords/${keyword.slice(0, 255)}`], 'Not a keyword.'));
    else labels[label] = isSet;
  }
  return ok({ ...flags, labels, replacesLabels: isWhole });
}
