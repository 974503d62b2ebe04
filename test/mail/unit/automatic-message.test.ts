import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { composeAutomatic } from '../../../workers/mail/domain/automatic-message.ts';

interface Parts {
  subject?: string;
  text?: string;
  name?: string;
  inReplyTo?: string;
  references?: string[];
}

const compose = (parts: Parts) =>
  composeAutomatic({
    from: { name: parts.name ?? 'Zoé', email: 'zoe@example.test' },
    to: 'a@far.test',
    subject: parts.subject ?? 'Away',
    text: parts.text ?? 'Back soon.',
    messageId: '<1@example.test>',
    inReplyTo: parts.inReplyTo ?? '<0@far.test>',
    references: parts.references ?? [],
    now: Date.UTC(2026, 0, 1),
    autoSubmitted: 'auto-replied',
  });

describe('an automatic message', () => {
  it('contains any given text in lines that every server accepts', async () => {
    const line = fc.string({ unit: 'grapheme', maxLength: 120 }).map((text) => text.replace(/\p{Cc}/gu, ''));
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 5 }), line, async (lines, subject) => {
        const raw = compose({ text: lines.join('\n'), subject });
        expect(Math.max(...raw.split('\r\n').map((each) => each.length))).toBeLessThanOrEqual(78);
        expect(raw).toMatch(/^[\t\r\n\x20-\x7e]*$/);
        const parsed = await PostalMime.parse(raw);
        expect(parsed.text?.replace(/\n$/, '')).toBe(lines.join('\n').replace(/\n$/, ''));
        expect(parsed.headers.find((header) => header.key === 'auto-submitted')?.value).toBe('auto-replied');
      }),
    );
  });

  it('keeps text out of the headers', () => {
    const raw = compose({ subject: 'x\r\nBcc: victim@far.test', name: 'a\r\nTo: victim@far.test' });
    expect(raw.split('\r\n\r\n')[0]).not.toMatch(/^(?:bcc|to): victim/im);
  });

  it('omits a Message-ID that a header cannot contain', () => {
    const ids = [
      '<a\rBcc: x@y.test>',
      '<a\n b>',
      '<a\u0001b>',
      '<é@far.test>',
      `<${'x'.repeat(5_000)}@far.test>`,
      'a@b',
    ];
    for (const id of ids) {
      const raw = compose({ inReplyTo: id, references: [id, '<good@far.test>'] });
      expect(raw).not.toContain('In-Reply-To');
      expect(raw).toMatch(/^References: <good@far\.test>\r$/m);
    }
  });
});
