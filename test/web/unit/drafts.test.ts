import { describe, expect, it } from 'vitest';
import { compareLines } from '../../../web/mail/compose/text-difference.ts';
import {
  blankWriting,
  checksumOf,
  fromDraft,
  isEmptyWriting,
  isOwnDraft,
  splitFiles,
  toDraftBody,
  type Writing,
} from '../../../web/mail/compose/writing.ts';
import type { DraftAnswer } from '../../../web/mail/model/api.ts';

const upload = (id: string | null, error: string | null = null) => ({
  key: `key of ${id}`,
  fileName: `${id}.txt`,
  size: 3,
  progress: 1,
  attachmentId: id,
  error,
});
const writing = (part: Partial<Writing> = {}): Writing => ({ ...blankWriting('key', ''), ...part });

/** Makes the server's version of a draft. It has every member; names are empty instead of absent. */
function answer(from: Writing, revision: number): DraftAnswer {
  const body = toDraftBody(from);
  const named = (list: { name?: string; email: string }[]) => list.map(({ name = '', email }) => ({ name, email }));
  return {
    id: 'd1',
    refusal: null,
    revision,
    updated_at: '2026-01-01T00:00:00Z',
    from: body.from ? { name: '', email: body.from.email } : null,
    to: named(body.to),
    cc: named(body.cc),
    bcc: named(body.bcc),
    subject: body.subject,
    body: body.body,
    html: body.html ?? null,
    attachments: body.attachments.map(({ attachment_id }) => ({
      attachment_id,
      file_name: `${attachment_id}.txt`,
      size: 3,
      content_type: 'text/plain',
    })),
    in_reply_to: body.in_reply_to ?? null,
    references: body.references ?? [],
    reply_to: named(body.reply_to ?? []),
    headers: body.headers ?? [],
    importance: body.importance ?? 'normal',
    forward_of: body.forward_of ?? null,
  };
}

describe('a message being written', () => {
  it('is empty until the user has typed more than the signature', () => {
    const signed = blankWriting('key', 'Ann');
    expect(isEmptyWriting(blankWriting('key', ''))).toBe(true);
    expect(isEmptyWriting(signed, signed.body)).toBe(true);
    expect(isEmptyWriting({ ...signed, body: `Hello${signed.body}` }, signed.body)).toBe(false);
    expect(isEmptyWriting({ ...signed, cc: 'b@x.test' }, signed.body)).toBe(false);
    expect(isEmptyWriting({ ...signed, attachments: [upload('u1')] }, signed.body)).toBe(false);
  });

  it('keeps incomplete addresses in a draft, and omits files that were not uploaded', () => {
    const body = toDraftBody(
      writing({ to: 'Ann <a@x.test>, hal', attachments: [upload('u1'), upload(null), upload('u2', 'Cut off.')] }),
    );
    expect(body.to).toEqual([{ name: 'Ann', email: 'a@x.test' }, { email: 'hal' }]);
    expect(body.attachments).toEqual([{ attachment_id: 'u1' }]);
  });

  it('contains only the newest hundred references', () => {
    const references = Array.from({ length: 130 }, (_, n) => `<${n}@x.test>`);
    expect(toDraftBody(writing({ references })).references).toEqual(references.slice(30));
  });

  it('is read from Drafts as it was typed', () => {
    const mine = writing({
      from: 'me@x.test',
      to: '"Lovelace, Ada" <a@x.test>, hal',
      bcc: 'c@x.test',
      subject: 'Soup',
      body: 'Carrots\n\nleeks ',
      html: '<p>Carrots</p><p><b>leeks</b></p>',
      inReplyTo: '<1@x.test>',
      references: ['<0@x.test>', '<1@x.test>'],
      replyTo: 'Desk <desk@x.test>',
      importance: 'low',
      headers: [{ name: 'X-Ticket', value: '1' }],
      forwardOf: 'm1',
      attachments: [upload('u1')],
    });
    const back = { ...mine, ...fromDraft(answer(mine, 4)) };
    expect(back).toMatchObject({ ...mine, draftId: 'd1', revision: 4, attachments: [{ attachmentId: 'u1' }] });
    expect(checksumOf(toDraftBody(back))).toBe(checksumOf(answer(mine, 4)));
  });
});

describe('a change of a draft elsewhere', () => {
  const before = writing({ draftId: 'd1', revision: 3, body: 'As it was' });

  it('is recognised by its revision', () => {
    const there = answer({ ...before, body: 'Theirs' }, 4);
    expect(isOwnDraft(answer(before, 3), { ...before, body: 'Mine' })).toBe(true);
    expect(isOwnDraft(there, { ...before, body: 'Mine' })).toBe(false);
  });

  it('is not reported for the user’s own save whose answer was lost, nor for equal text', () => {
    const left = { ...before, body: 'Mine' };
    const later = { ...before, body: 'Mine, and more', tried: [checksumOf(toDraftBody(left))] };
    expect(isOwnDraft(answer(left, 4), later)).toBe(true);
    expect(isOwnDraft(answer({ ...before, body: 'Theirs' }, 4), later)).toBe(false);
    expect(isOwnDraft(answer(left, 9), { ...before, body: 'Mine' })).toBe(true);
  });

  it('is detected in every member: a file, a recipient, a subject', () => {
    for (const part of [
      { subject: 's' },
      { html: '<p>s</p>' },
      { to: 'a@x.test' },
      { bcc: 'a@x.test' },
      { replyTo: 'a@x.test' },
      { importance: 'high' as const },
      { headers: [{ name: 'X-Ticket', value: '1' }] },
      { forwardOf: 'm1' },
      { attachments: [upload('u9')] },
    ]) {
      expect(checksumOf(toDraftBody({ ...before, ...part }))).not.toBe(checksumOf(toDraftBody(before)));
    }
    expect(checksumOf(toDraftBody({ ...before, to: 'a@x.test' }))).not.toBe(
      checksumOf(toDraftBody({ ...before, cc: 'a@x.test' })),
    );
  });

  it('leaves attachments with the draft that has them', () => {
    const mine = { ...before, attachments: [upload('shared'), upload('mine'), upload(null)] };
    const { own, shared } = splitFiles(mine, answer({ ...before, attachments: [upload('shared')] }, 4));
    expect(own.map((one) => one.attachmentId)).toEqual(['mine', null]);
    expect(shared.map((one) => one.attachmentId)).toEqual(['shared']);
  });
});

describe('a comparison of two texts', () => {
  const marked = (lines: { text: string; isOnlyHere: boolean }[]) =>
    lines.flatMap((line) => (line.isOnlyHere ? line.text : []));

  it('marks the lines that only one text has', () => {
    const { mine, theirs } = compareLines('Dear all,\nmine\nthe end', 'Dear all,\ntheirs\nmore\nthe end');
    expect(marked(mine)).toEqual(['mine']);
    expect(marked(theirs)).toEqual(['theirs', 'more']);
    expect(mine.map((line) => line.text).join('\n')).toBe('Dear all,\nmine\nthe end');
  });

  it('marks nothing in equal texts, and everything in texts without common lines', () => {
    expect(marked(compareLines('a\nb', 'a\nb').mine)).toEqual([]);
    const { mine, theirs } = compareLines('a\nb', 'c');
    expect([marked(mine), marked(theirs)]).toEqual([['a', 'b'], ['c']]);
  });

  it('finds common lines between several changes', () => {
    const { mine, theirs } = compareLines('x\nkeep 1\ny\nkeep 2\nz', 'keep 1\nq\nkeep 2');
    expect(marked(mine)).toEqual(['x', 'y', 'z']);
    expect(marked(theirs)).toEqual(['q']);
  });

  it('compares long texts only outside their first and last difference', () => {
    const long = Array.from({ length: 3_000 }, (_, n) => `line ${n}`);
    const { mine, theirs } = compareLines(
      ['head', ...long, 'tail'].join('\n'),
      ['head', ...long.toReversed(), 'tail'].join('\n'),
    );
    expect(mine[0]?.isOnlyHere).toBe(false);
    expect(theirs.at(-1)?.isOnlyHere).toBe(false);
    expect(marked(mine)).toHaveLength(3_000);
  });
});
