/** Tells mail that a program made from mail that a person wrote, and newsletters from both. Pure. */
import type { HeaderField } from './written-fields.ts';

const MACHINE_NAMES =
  /^(?:.*[._-])?(?:no-?reply|do-?not-?reply|nao-?responda|no-?responder|ne-?pas-?repondre|noresponder|nichtantworten|auto(?:mated|matic|mailer)?|mailer(?:-daemon)?|daemon|bounces?|notif(?:y|ications?|icaciones|icacoes)?|alerts?|accounts?|konto|compte|cuenta|security|sicherheit|secure|verif(?:y|ication)|confirm(?:ation)?|auth(?:entication)?|login|signin|password|passwort|otp|codes?|system|service|services|support|id|identity|team|hello|welcome|info|admin|postmaster|root|updates?|messages?)(?:[._+-].*)?$/i;
/** Fields that services which send for programs add. */
const SENDING_SERVICES =
  /^(?:feedback-id|x-ses-.*|x-sg-.*|x-mailgun-.*|x-pm-.*|x-mandrill-.*|x-mc-.*|x-sparkpost-.*|x-postmark-.*|x-msys-.*|x-entity-ref-id|x-auto-response-suppress|x-csa-complaints|x-mailjet-.*|x-sendinblue-.*|x-sib-.*|x-report-abuse.*|x-google-id)$/i;

const fieldOf = (headers: readonly HeaderField[], wanted: string): string | null =>
  headers
    .find(({ name }) => name.toLowerCase() === wanted)
    ?.value.trim()
    .toLowerCase() ?? null;

/** Whether the message belongs to a mailing list or newsletter. */
export const isListMail = (headers: readonly HeaderField[]): boolean =>
  fieldOf(headers, 'list-id') !== null && fieldOf(headers, 'list-unsubscribe') !== null;

/** @param from address of the author; null if the message has none. */
export function isMachineMade(from: string | null, headers: readonly HeaderField[]): boolean {
  const local = (from ?? '').slice(0, (from ?? '').lastIndexOf('@'));
  const submitted = fieldOf(headers, 'auto-submitted');
  const precedence = fieldOf(headers, 'precedence');
  return (
    local === '' ||
    MACHINE_NAMES.test(local) ||
    (submitted !== null && submitted !== 'no') ||
    /^(?:bulk|junk|list|auto_reply)$/.test(precedence ?? '') ||
    headers.some(({ name }) => SENDING_SERVICES.test(name))
  );
}
