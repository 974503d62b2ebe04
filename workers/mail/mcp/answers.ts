/** Texts of the answers of tools. What others wrote is in fences; everything outside of them is ours. */
import type { MessageDetail } from '../../../durable-objects/mail/contract/messages.ts';
import { fence, toVisibleLine } from '../domain/foreign-text.ts';
import { toTime } from '../routes/route.ts';
import type { Agent } from './agent.ts';
import type { ShownMessage } from './reading.ts';

const PREVIEW_LENGTH = 300;

const toAddresses = (list: MessageDetail['to']): string =>
  list
    .slice(0, 50)
    .map(({ name, email }) => toVisibleLine(name === '' ? email : `${name} <${email}>`, 200))
    .join(', ');

/** Lines of facts that nobody outside wrote. */
function toFacts({ message, isWithheld, hasSecrets }: ShownMessage): string[] {
  const flags = [
    message.isRead ? 'read' : 'unread',
    ...(message.isFlagged ? ['flagged'] : []),
    ...(message.origin === 'draft' ? ['draft'] : []),
    ...(message.origin === 'sent' ? ['sent by the person'] : []),
  ];
  return [
    `message ${message.messageId} thread ${message.threadId} folder ${message.folderRole ?? message.folderId}`,
    `received ${toTime(message.receivedAt)}; ${flags.join(', ')}`,
    ...(message.labels.length > 0
      ? [`labels: ${message.labels.map((label) => toVisibleLine(label, 100)).join(', ')}`]
      : []),
    ...(isWithheld
      ? [
          'WITHHELD: machine-made mail of a sender to whom the person never wrote may hold sign-in codes. It is shown after 48 hours.',
        ]
      : hasSecrets
        ? ['Codes or sign-in links in it are withheld.']
        : []),
  ];
}

/** @param isWhole false for the beginning of the text only. */
export function toMessageText(agent: Agent, shown: ShownMessage, isWhole: boolean): string {
  const { message, isWithheld, subject, body, fileNames } = shown;
  const from = `From: ${message.from ? toAddresses([message.from]) : '(none)'}`;
  if (isWithheld) return [...toFacts(shown), fence(`From: ${message.from?.email ?? '(none)'}`, agent.mark)].join('\n');
  const text = isWhole ? body : body.replace(/\s+/g, ' ').slice(0, PREVIEW_LENGTH).toWellFormed();
  const head = [
    from,
    `To: ${toAddresses(message.to)}`,
    ...(message.cc.length > 0 ? [`Cc: ${toAddresses(message.cc)}`] : []),
    `Subject: ${subject}`,
    ...(fileNames.length > 0 ? [`Attachments: ${fileNames.join(' | ')}`] : []),
  ];
  return [...toFacts(shown), fence([...head, '', text].join('\n'), agent.mark)].join('\n');
}
