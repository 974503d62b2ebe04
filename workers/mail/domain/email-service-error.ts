/**
 * Errors of Cloudflare Email Service: https://developers.cloudflare.com/email-service/api/send-emails/workers-api/#error-codes. Pure.
 */

export type EmailServiceErrorKind =
  /** No retry can repair it, because the message itself is the cause. */
  | 'refused'
  /** The address is on Cloudflare's suppression list, for a time or for ever. */
  | 'suppressed'
  /** The sending domain is not onboarded yet, or only verified addresses are accepted yet. The operator can repair it. */
  | 'not_allowed'
  /** The account has used its quota. Cloudflare resets or raises it. */
  | 'quota'
  | 'temporary';

const KINDS: readonly (readonly [RegExp, EmailServiceErrorKind])[] = [
  [/^E_RECIPIENT_SUPPRESSED\b/, 'suppressed'],
  [/^E_(?:SENDER_NOT_VERIFIED|SENDER_DOMAIN_NOT_AVAILABLE|RECIPIENT_NOT_ALLOWED)\b/, 'not_allowed'],
  [/^E_(?:DAILY_LIMIT|RATE_LIMIT)_EXCEEDED\b/, 'quota'],
  [/^E_(?:VALIDATION_ERROR|CONTENT_TOO_LARGE|FIELD_MISSING|TOO_MANY_RECIPIENTS|HEADERS?_\w+)\b/, 'refused'],
  // Without a code: a forward, whose From is foreign.
  [/header does not match mail from/i, 'refused'],
  // Without a code: what the binding says before the domain of the sender is onboarded.
  [/destination address is not a verified/i, 'not_allowed'],
];

/** Decides what an error of the binding means. @param text the error's code, if it has one, then its message. */
export const classifyEmailServiceError = (text: string): EmailServiceErrorKind =>
  KINDS.find(([pattern]) => pattern.test(text))?.[1] ?? 'temporary';
