import { describe, expect, it } from 'vitest';
import { joinHtml, resolvePictures, splitHtml } from '../../../web/mail/compose/quoted-html.ts';
import { findSendQuestion } from '../../../web/mail/compose/send-questions.ts';
import { blankWriting, fromDraft, toDraftBody, toOutgoing, type Writing } from '../../../web/mail/compose/writing.ts';
import type { DraftAnswer, Summary } from '../../../web/mail/model/api.ts';
import { applyWaiting } from '../../../web/mail/model/summaries.ts';
import { describeSpam } from '../../../web/mail/reader/verdicts.ts';
import { ApiError, describeProblem, isUnreachable } from '../../../web/shared/api.ts';
import { en } from '../../../web/shared/texts/en.ts';
import { PROBLEM_CODES_BY_PART } from '../../../workers/shared/json/problem-codes/index.ts';

describe('texts for errors', () => {
  it('has a sentence for every code of a problem, and no others', () => {
    const codes = Object.values(PROBLEM_CODES_BY_PART).flatMap((part) => Object.keys(part));
    expect(Object.keys(en.problems).sort()).toEqual([...codes].sort());
    for (const text of Object.values(en.problems)) expect(text).toMatch(/[.}]$/);
  });

  it('shows no text of a validator for a field that the user knows', () => {
    const errors = [{ path: 'password', message: 'Too small: expected string to have >=8 characters' }];
    expect(describeProblem(400, { code: 'invalid_request', errors })).toBe(
      'Use a password of at least 8 characters that is not a common one.',
    );
    expect(describeProblem(400, { code: 'invalid_request', errors: [{ path: 'to.0.email', message: 'bad' }] })).toBe(
      'Check the recipients.',
    );
    const unknown = [{ path: 'decimals', message: 'must be at most 6' }];
    expect(describeProblem(400, { code: 'invalid_request', errors: unknown })).toContain(
      'decimals: must be at most 6.',
    );
  });

  it('names the time of a retry, and keeps the words of the server only for unknown codes', () => {
    expect(describeProblem(429, { code: 'rate_limited' }, 300)).toBe('Too many requests. Try again in 5 minutes.');
    expect(describeProblem(429, { code: 'rate_limited' })).toBe('Too many requests. Try again in a moment.');
    expect(describeProblem(418, { code: 'new_code', detail: 'The server says why.' })).toBe('The server says why.');
    expect(describeProblem(0, {})).toBe('The server cannot be reached.');
  });

  it('distinguishes an outage from a refusal', () => {
    expect([0, 502, 503, 504].map((status) => isUnreachable(new ApiError(status, {})))).toEqual(Array(4).fill(true));
    expect([400, 401, 404, 409, 429, 500].map((status) => isUnreachable(new ApiError(status, {})))).toEqual(
      Array(6).fill(false),
    );
  });
});

const writing = (part: Partial<Writing>): Writing => ({ ...blankWriting('key', ''), ...part });

describe('a quote outside the editor', () => {
  const quote = {
    html: '<div dir="auto">On Monday, Ann wrote:</div><img alt="a &gt; b" src="cid:k1@attachment"><img src="cid:k2@attachment">',
    text: 'On Monday, Ann wrote:\n> Hi',
  };
  const upload = { key: 'k1', fileName: 'a.png', size: 1, progress: 1, attachmentId: 'id1', error: null };

  it('survives a draft, with text that looks like HTML', () => {
    for (const text of ['Thanks <b> & "you" &lt;br&gt;\n\nBye ', '', '\n', '</div><br><div class="tessera-quote">']) {
      const { html, body } = joinHtml(text, null, quote);
      expect(splitHtml(html, body)).toEqual({ text, rich: null, quote });
    }
    expect(splitHtml('<p>Written elsewhere</p>', 'Written elsewhere')).toBeNull();
  });

  it('survives a draft beside formatted text, and formatted text survives without it', () => {
    const rich = '<div>Thanks, <b>Ann</b></div><ul><li>one</li></ul>';
    const both = joinHtml('Thanks, Ann\n\none', rich, quote);
    expect(splitHtml(both.html, both.body)).toEqual({ text: 'Thanks, Ann\n\none', rich, quote });
    const alone = joinHtml('Thanks, Ann', rich, null);
    expect(splitHtml(alone.html, alone.body)).toEqual({ text: 'Thanks, Ann', rich, quote: null });
  });

  it('names uploaded pictures by their ids, and leaves out pictures that are gone', () => {
    expect(resolvePictures(quote.html, new Map([['k1', 'id1']]))).toBe(
      '<div dir="auto">On Monday, Ann wrote:</div><img alt="a &gt; b" src="cid:id1@attachment">',
    );
  });

  it('sends the typed text before the quote, and Content-IDs for its pictures only', () => {
    const file = { ...upload, key: 'k9', attachmentId: 'id9' };
    const sent = toOutgoing(
      writing({ body: 'Thanks', quote, attachments: [{ ...upload, isInline: true }, file] }),
      null,
    );
    expect(sent.body).toBe('Thanks\n\nOn Monday, Ann wrote:\n> Hi');
    expect(sent.html).toContain('Thanks</div>');
    expect(sent.attachments).toEqual([
      { attachment_id: 'id1', content_id: 'id1@attachment' },
      { attachment_id: 'id9' },
    ]);
  });

  it('is the same after the draft is loaded', () => {
    const before = writing({ body: 'Thanks', quote, attachments: [{ ...upload, isInline: true }] });
    const { attachments, ...saved } = toDraftBody(before);
    const draft = {
      ...saved,
      ...{ reply_to: [], headers: [], importance: 'normal', forward_of: null },
      attachments: attachments.map((one) => ({ ...one, file_name: 'a.png', size: 1, content_type: 'image/png' })),
    } as unknown as DraftAnswer;
    const after = fromDraft({ ...draft, references: [], html: saved.html ?? null });
    expect([after.body, after.html]).toEqual(['Thanks', null]);
    expect(after.attachments).toMatchObject([{ key: 'id1', isInline: true }]);
    expect(toDraftBody({ ...after, key: 'x' })).toMatchObject({ html: saved.html, body: saved.body });
  });
});

describe('the question before sending', () => {
  const file = { key: 'k', fileName: 'a', size: 1, progress: 1, attachmentId: 'i', error: null };
  it.each([
    ['See the attached file.', 'S', []],
    ['Im Anhang die Rechnung.', 'S', []],
    ['ファイルを添付します', 'S', []],
    ['Hello', '', []],
  ])('asks about %j with the subject %j', (body, subject, attachments) => {
    expect(findSendQuestion(writing({ body, subject, attachments }))).not.toBeNull();
  });
  it.each([
    ['See the attached file.', 'S', [file]],
    ['Thanks!\n> See the attached file.', 'S', []],
    ['Thanks!\n\n-- \nSee the attached disclaimer', 'S', []],
    ['I am attachedly fond of it', 'S', []],
  ])('does not ask about %j with the subject %j', (body, subject, attachments) => {
    expect(findSendQuestion(writing({ body, subject, attachments }))).toBeNull();
  });
});

describe('changes that wait for the network', () => {
  const message = (id: string): Summary =>
    ({ id, folder_id: 'inbox', is_read: false, labels: ['a'] }) as unknown as Summary;
  it('are applied to messages that were read from the server', () => {
    const read = [message('1'), message('2'), message('3')];
    const changes = [
      { kind: 'patch' as const, ids: ['1'], patch: { folder_id: 'archive' } },
      { kind: 'patch' as const, ids: ['2', '3'], patch: { is_read: true, add_labels: ['b'], remove_labels: ['a'] } },
      { kind: 'erase' as const, ids: ['3'] },
    ];
    expect(applyWaiting(read, changes, 'inbox')).toMatchObject([{ id: '2', is_read: true, labels: ['b'] }]);
    expect(applyWaiting(read, changes, null).map((one) => one.id)).toEqual(['1', '2']);
    expect(
      applyWaiting(read, [...changes, { kind: 'patch', ids: ['1'], patch: { folder_id: 'inbox' } }], 'inbox'),
    ).toHaveLength(2);
  });
});

describe('the verdict of the spam filter', () => {
  it('keeps signs of junk apart from signs of good mail', () => {
    const reasons = [
      { text: 'The Message-ID is of the sender’s own domain', score: -1 },
      { text: 'The text reads like known spam', score: 2 },
      { text: 'Nothing', score: 0 },
    ];
    const spam = { verdict: 'ham', score: 0, reasons } as unknown as Parameters<typeof describeSpam>[0];
    expect(describeSpam(spam)).toEqual({
      title: 'Not junk',
      against: ['The text reads like known spam'],
      inFavour: ['The Message-ID is of the sender’s own domain'],
    });
  });
});
