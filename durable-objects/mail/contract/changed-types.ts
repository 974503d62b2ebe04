/** Finds the JMAP types that a change affects. Pure. */
import type { Change } from './changes.ts';

export const JMAP_TYPES = [
  'Mailbox',
  'Thread',
  'Email',
  'EmailDelivery',
  'Identity',
  'EmailSubmission',
  'VacationResponse',
  'Quota',
] as const;
export type JmapType = (typeof JMAP_TYPES)[number];

const TYPES_OF: Partial<Record<Change['type'], readonly JmapType[]>> = {
  message_created: ['Email', 'Thread', 'Mailbox', 'Quota'],
  message_updated: ['Email', 'Mailbox'],
  message_deleted: ['Email', 'Thread', 'Mailbox', 'Quota'],
  folder_created: ['Mailbox'],
  folder_updated: ['Mailbox'],
  folder_deleted: ['Mailbox'],
  mailbox_updated: ['Identity', 'VacationResponse', 'Quota'],
  delivery_updated: ['EmailSubmission'],
  identity_created: ['Identity'],
  identity_updated: ['Identity'],
  identity_deleted: ['Identity'],
  submission_created: ['EmailSubmission'],
  submission_deleted: ['EmailSubmission'],
};

/** `EmailDelivery` is a type that changes only when mail arrives (RFC 8621 §1.5). */
const typesOf = ({ type, replaced_email_id, is_delivered }: Change): readonly JmapType[] => [
  ...((replaced_email_id === undefined ? TYPES_OF[type] : SAVED) ?? []),
  ...(is_delivered ? (['EmailDelivery'] as const) : []),
];

/** Types that a saved draft affects. For JMAP, the save makes a new email. */
const SAVED: readonly JmapType[] = ['Email', 'Thread', 'Mailbox', 'Quota'];

export function listChangedTypes(changes: readonly Change[]): JmapType[] {
  const types = new Set(changes.flatMap(typesOf));
  return JMAP_TYPES.filter((type) => types.has(type));
}
