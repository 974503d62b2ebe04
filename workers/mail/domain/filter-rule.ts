/**
 * The user's filters and the vacation reply. Rules are applied in order. Each rule that matches adds its actions. A matching rule
 * with the action `stop` ends the list. Texts are compared without regard to case and accents.
 */
import { foldText } from './search-text.ts';

export const TEXT_OPERATORS = ['contains', 'is', 'begins_with', 'ends_with'] as const;
type TextOperator = (typeof TEXT_OPERATORS)[number];

export type FilterCondition =
  | {
      readonly field: 'from' | 'to' | 'subject' | 'body';
      readonly operator: TextOperator;
      readonly value: string;
      readonly negate?: boolean | undefined;
    }
  | {
      readonly field: 'header';
      readonly header_name: string;
      readonly operator: TextOperator | 'exists';
      readonly value?: string | undefined;
      readonly negate?: boolean | undefined;
    }
  | {
      readonly field: 'size';
      readonly operator: 'larger' | 'smaller';
      readonly bytes: number;
      readonly negate?: boolean | undefined;
    }
  | { readonly field: 'has_attachment'; readonly negate?: boolean | undefined };

/** Actions without a value of their own. */
export const PLAIN_ACTIONS = ['mark_read', 'flag', 'trash', 'stop'] as const;

export type FilterAction =
  | { readonly type: 'move'; readonly folder_id: string }
  | { readonly type: 'label'; readonly label: string }
  | { readonly type: 'forward'; readonly to: string }
  | { readonly type: (typeof PLAIN_ACTIONS)[number] };

export interface FilterRule {
  readonly name: string;
  readonly enabled: boolean;
  readonly match: 'all' | 'any';
  readonly conditions: readonly FilterCondition[];
  readonly actions: readonly FilterAction[];
}

export interface MessageFacts {
  readonly from: readonly { readonly name: string; readonly email: string }[];
  /** Addresses in To and Cc. */
  readonly to: readonly { readonly name: string; readonly email: string }[];
  readonly subject: string;
  readonly body: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly sizeBytes: number;
  readonly hasAttachment: boolean;
}

export interface FilterDecision {
  /** Id of the folder to move the message to, or `trash`; null leaves the message in its folder. */
  readonly folder: string | null;
  readonly isRead: boolean;
  readonly isFlagged: boolean;
  readonly labels: readonly string[];
  readonly forwardTo: readonly string[];
}

/** Combines the actions of all rules that match. Of moves, the last one is used; other actions add up. */
export function decideFilters(rules: readonly FilterRule[], facts: MessageFacts): FilterDecision {
  let folder: string | null = null;
  let [isRead, isFlagged] = [false, false];
  const labels = new Set<string>();
  const forwardTo = new Set<string>();
  for (const rule of rules) {
    if (!rule.enabled || !doesRuleMatch(rule, facts)) continue;
    for (const action of rule.actions) {
      if (action.type === 'move') folder = action.folder_id;
      if (action.type === 'trash') folder = 'trash';
      if (action.type === 'label') labels.add(action.label);
      if (action.type === 'mark_read') isRead = true;
      if (action.type === 'flag') isFlagged = true;
      if (action.type === 'forward') forwardTo.add(action.to.toLowerCase());
    }
    if (rule.actions.some((action) => action.type === 'stop')) break;
  }
  return { folder, isRead, isFlagged, labels: [...labels], forwardTo: [...forwardTo] };
}

/** Whether a rule matches. A rule without conditions matches every message. */
export function doesRuleMatch(rule: FilterRule, facts: MessageFacts): boolean {
  const holds = (condition: FilterCondition) => doesConditionMatch(condition, facts) !== (condition.negate ?? false);
  return rule.match === 'all'
    ? rule.conditions.every(holds)
    : rule.conditions.length === 0 || rule.conditions.some(holds);
}

function doesConditionMatch(condition: FilterCondition, facts: MessageFacts): boolean {
  switch (condition.field) {
    case 'from':
      return doesAnyAddressMatch(facts.from, condition);
    case 'to':
      return doesAnyAddressMatch(facts.to, condition);
    case 'subject':
      return doesTextMatch(facts.subject, condition.operator, condition.value);
    case 'body':
      return doesTextMatch(facts.body, condition.operator, condition.value);
    case 'header': {
      const name = condition.header_name.toLowerCase();
      const values = facts.headers.filter((header) => header.name.toLowerCase() === name);
      const { operator } = condition;
      if (operator === 'exists') return values.length > 0;
      return values.some((header) => doesTextMatch(header.value, operator, condition.value ?? ''));
    }
    case 'size':
      return condition.operator === 'larger' ? facts.sizeBytes > condition.bytes : facts.sizeBytes < condition.bytes;
    case 'has_attachment':
      return facts.hasAttachment;
  }
}

/** An address matches by its email, by its name, or by both as they are written together. */
function doesAnyAddressMatch(
  people: MessageFacts['from'],
  condition: { operator: TextOperator; value: string },
): boolean {
  return people.some(({ name, email }) =>
    [email, name, `${name} <${email}>`].some((text) => doesTextMatch(text, condition.operator, condition.value)),
  );
}

function doesTextMatch(text: string, operator: TextOperator, value: string): boolean {
  const [folded, wanted] = [foldText(text).trim(), foldText(value).trim()];
  // An empty value never matches. Every text contains the empty text, so the rule would match all mail.
  if (wanted === '') return false;
  switch (operator) {
    case 'contains':
      return folded.includes(wanted);
    case 'is':
      return folded === wanted;
    case 'begins_with':
      return folded.startsWith(wanted);
    case 'ends_with':
      return folded.endsWith(wanted);
  }
}

/** Header field that a forwarding mailbox adds to a message. It names the mailbox. */
export const FORWARDED_BY = 'X-Tessera-Forwarded-By';

/**
 * Whether a message may be forwarded automatically: not by a mailbox that forwarded it before, and no report (null sender).
 * Otherwise two mailboxes could forward a message in a loop.
 */
export function mayForward(userId: string, envelopeFrom: string, headers: MessageFacts['headers']): boolean {
  if (envelopeFrom === '') return false;
  return !headers.some(
    (header) => header.name.toLowerCase() === FORWARDED_BY.toLowerCase() && header.value.trim() === userId,
  );
}

const UNANSWERED_SENDERS =
  /^(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|owner-.*|.*-(?:request|owner|bounces?)|bounces?[+-].*|listserv|majordomo)@/i;
/**
 * Matches the return path of a mailbox, here or elsewhere, that forwarded a message. Such an address accepts only reports, and its
 * owner did not write the message.
 */
const RETURN_PATH = /\+srs0=/;
const LIST_HEADERS = /^(?:list-(?:id|help|post|subscribe|unsubscribe|archive|owner)|feedback-id)$/i;

/**
 * Whether a message gets a vacation reply (RFC 3834 §2). The null sender, lists, bulk mail, programs, forwarders and the user never
 * get one. The message must name one of the user's own addresses.
 * @param own the user's addresses in lower case.
 */
export function mayAnswerAutomatically(envelopeFrom: string, own: ReadonlySet<string>, facts: MessageFacts): boolean {
  const sender = envelopeFrom.toLowerCase();
  if (sender === '' || own.has(sender) || UNANSWERED_SENDERS.test(sender) || RETURN_PATH.test(sender)) return false;
  for (const { name, value } of facts.headers) {
    const header = name.toLowerCase();
    if (header === 'auto-submitted' && !/^no\b/i.test(value.trim())) return false;
    if (header === 'precedence' && /^(?:bulk|list|junk)\b/i.test(value.trim())) return false;
    if (header === 'x-auto-response-suppress' && /\b(?:all|oof|autoreply)\b/i.test(value)) return false;
    if (LIST_HEADERS.test(name)) return false;
  }
  return facts.to.some(({ email }) => own.has(email.toLowerCase().replace(/\+[^@]*@/, '@')));
}
