/** Converts the vacation reply to the only VacationResponse of JMAP (RFC 8621 §8). */

import { z } from '@hono/zod-openapi';
import type { VacationSettings } from '../../../../durable-objects/mail/contract/mailbox.ts';

import { cleanDraftHtml, cleanHtml, toPlainText } from '../../mime/clean-html.ts';
import { utcDateSchema } from '../protocol/arguments.ts';
import type { Arguments } from '../protocol/method.ts';
import { toUtcDate } from './email.ts';

export const VACATION_ID = 'singleton';
export const VACATION_PROPERTIES = [
  'id',
  'isEnabled',
  'fromDate',
  'toDate',
  'subject',
  'textBody',
  'htmlBody',
] as const;

export const vacationPatchSchema = z.strictObject({
  id: z.literal(VACATION_ID).optional(),
  isEnabled: z.boolean().optional(),
  fromDate: utcDateSchema.nullable().optional(),
  toDate: utcDateSchema.nullable().optional(),
  subject: z.string().max(500).nullable().optional(),
  textBody: z.string().max(10_000).nullable().optional(),
  htmlBody: z.string().max(50_000).nullable().optional(),
});

/** @returns the text of a reply that has only an HTML body. */
const toReplyText = (html: string): string => toPlainText(cleanHtml(html) ?? '');

export function toVacationResponse(vacation: VacationSettings | null): Arguments {
  const htmlBody = vacation?.htmlBody ?? null;
  const isMade = htmlBody !== null && vacation?.body === toReplyText(htmlBody);
  return {
    id: VACATION_ID,
    isEnabled: vacation?.isEnabled ?? false,
    fromDate: vacation?.startsAt == null ? null : toUtcDate(vacation.startsAt),
    toDate: vacation?.endsAt == null ? null : toUtcDate(vacation.endsAt),
    subject: vacation?.subject || null,
    textBody: isMade ? null : vacation?.body || null,
    htmlBody,
  };
}

export function toVacationSettings(
  before: VacationSettings | null,
  patch: z.output<typeof vacationPatchSchema>,
  addresses: readonly string[],
): VacationSettings {
  const merged = { ...toVacationResponse(before), ...patch } as Required<typeof patch>;
  const { isEnabled, fromDate, toDate, subject, textBody, htmlBody } = merged;
  return {
    isEnabled: isEnabled ?? false,
    subject: subject ?? '',
    body: textBody ?? (htmlBody ? toReplyText(htmlBody) : ''),
    htmlBody: htmlBody == null ? null : cleanDraftHtml(htmlBody),
    startsAt: fromDate ? Date.parse(fromDate) : null,
    endsAt: toDate ? Date.parse(toDate) : null,
    addresses,
  };
}
