/** What errors of Cloudflare Email Service mean for a message. */
import { expect, it } from 'vitest';
import { classifyEmailServiceError } from '../../../../workers/mail/domain/email-service-error.ts';

it.each([
  ['E_RECIPIENT_SUPPRESSED Recipient is on suppression list', 'suppressed'],
  ['E_SENDER_NOT_VERIFIED Sender domain not verified', 'not_allowed'],
  ['E_SENDER_DOMAIN_NOT_AVAILABLE Domain not available for sending', 'not_allowed'],
  ['E_RECIPIENT_NOT_ALLOWED Recipient not in allowed list', 'not_allowed'],
  ['destination address is not a verified address', 'not_allowed'],
  ['E_DAILY_LIMIT_EXCEEDED Daily limit exceeded', 'quota'],
  ['E_RATE_LIMIT_EXCEEDED Rate limit exceeded', 'quota'],
  ['E_VALIDATION_ERROR Invalid', 'refused'],
  ['E_CONTENT_TOO_LARGE Too large', 'refused'],
  ['E_FIELD_MISSING Missing', 'refused'],
  ['E_TOO_MANY_RECIPIENTS Too many', 'refused'],
  ['E_HEADER_NOT_ALLOWED Header not allowed', 'refused'],
  ['E_HEADERS_TOO_LARGE Headers payload too large', 'refused'],
  ['E_DELIVERY_FAILED Could not deliver', 'temporary'],
  ['E_INTERNAL_SERVER_ERROR Internal', 'temporary'],
  ['Network connection lost.', 'temporary'],
])('%s is %s', (text, kind) => {
  expect(classifyEmailServiceError(text)).toBe(kind);
});
