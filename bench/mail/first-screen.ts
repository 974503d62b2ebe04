/** The request of a JMAP client that opens the inbox. */

const JMAP = ['core', 'mail'].map((name) => `urn:ietf:params:jmap:${name}`);
const LIST_PROPERTIES = [
  'threadId',
  'mailboxIds',
  'keywords',
  'from',
  'subject',
  'receivedAt',
  'hasAttachment',
  'preview',
];

/**
 * Reads the folders and, by a reference to the first query's result, the newest messages of the inbox.
 * @returns the body of one JMAP request.
 */
export const toFirstScreen = (accountId: string, inbox: string): string =>
  JSON.stringify({
    using: JMAP,
    methodCalls: [
      ['Mailbox/get', { accountId }, 'a'],
      ['Email/query', { accountId, filter: { inMailbox: inbox }, collapseThreads: true, limit: 50 }, 'b'],
      [
        'Email/get',
        { accountId, '#ids': { resultOf: 'b', name: 'Email/query', path: '/ids' }, properties: LIST_PROPERTIES },
        'c',
      ],
    ],
  });
