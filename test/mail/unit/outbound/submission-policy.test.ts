import { describe, expect, it } from 'vitest';
import {
  isBlockedFile,
  type SubmittedAddress,
  type SubmittedFile,
  validateAddresses,
  validateFiles,
} from '../../../../workers/mail/domain/submission-policy.ts';

const RECIPIENTS_MAX = 3;
const BYTES_MAX = 100;
const people = (...emails: string[]): SubmittedAddress[] => emails.map((email) => ({ name: '', email }));
const validate = (
  lists: { to?: SubmittedAddress[]; cc?: SubmittedAddress[]; bcc?: SubmittedAddress[] },
  files: SubmittedFile[] = [],
) => {
  const { faults, recipients } = validateAddresses({ to: [], cc: [], bcc: [], ...lists }, RECIPIENTS_MAX);
  return { faults: [...faults, ...validateFiles(files, BYTES_MAX)], recipients };
};
const faultsOf = (...of: Parameters<typeof validate>) =>
  validate(...of).faults.map(({ status, code, path }) => [status, code, path]);

describe('a submitted message', () => {
  it('is sent to each recipient once, in the order To, Cc, Bcc', () => {
    const { faults, recipients } = validate({
      to: people('b@far.test'),
      cc: people('a@far.test', 'B@FAR.test'),
      bcc: people('c@far.test', 'a@far.test'),
    });
    expect(faults).toEqual([]);
    expect(recipients.paths.map((path) => path.email.toLowerCase())).toEqual([
      'b@far.test',
      'a@far.test',
      'c@far.test',
    ]);
  });
  it('needs a recipient in one of the lists', () => {
    expect(faultsOf({})).toEqual([[400, 'no_recipient', 'to']]);
    for (const list of ['to', 'cc', 'bcc'] as const) expect(faultsOf({ [list]: people('a@far.test') })).toEqual([]);
    expect(faultsOf({ to: people('a@far.test'), bcc: people('b@far.test') })).toEqual([]);
  });
  it('has at most the allowed number of recipients, without duplicates', () => {
    const three = people('a@far.test', 'b@far.test', 'c@far.test');
    expect(faultsOf({ to: three, cc: three })).toEqual([]);
    const { faults } = validate({ to: three, bcc: people('d@far.test') });
    expect(faults).toMatchObject([
      { status: 400, code: 'too_many_recipients', message: 'The message has 4 recipients; the limit is 3.' },
    ]);
  });
  it('lists each invalid address with the reason', () => {
    const { faults } = validate({ to: people('a@far.test', 'nobody'), cc: people('ä@far.test', 'a b@fär.test', '@') });
    expect(faults.map(({ path }) => path)).toEqual(['to.1.email', 'cc.0.email', 'cc.1.email', 'cc.2.email']);
    expect(faults.map(({ message }) => /ASCII/.test(message))).toEqual([false, true, false, false]);
    const { faults: incomplete } = validate({ to: people('ä', 'äb') });
    expect(incomplete.map(({ path, message }) => [path, message])).toEqual([
      ['to.0.email', 'Not a valid mail address.'],
      ['to.1.email', 'Not a valid mail address.'],
    ]);
  });
  it('has valid addresses for replies, which do not receive it', () => {
    const message = { to: people('a@far.test'), cc: [], bcc: [], files: [] };
    const { faults, recipients } = validateAddresses(
      { ...message, replyTo: people('b@far.test', 'nobody') },
      RECIPIENTS_MAX,
    );
    expect(faults.map(({ code, path }) => [code, path])).toEqual([['bad_address', 'reply_to.1.email']]);
    expect(recipients.paths.map(({ email }) => email)).toEqual(['a@far.test']);
  });
  it('has attachments up to the total limit, and no programs', () => {
    const to = people('a@far.test');
    const file = (fileName: string, sizeBytes: number) => ({ fileName, sizeBytes });
    expect(faultsOf({ to }, [file('a.txt', 60), file('b.txt', 40)])).toEqual([]);
    expect(faultsOf({ to }, [file('a.txt', 60), file('b.exe', 41)])).toEqual([
      [400, 'blocked_attachment', 'attachments.1'],
      [413, 'too_large', 'attachments'],
    ]);
    expect(faultsOf({ to }, [file('b.exe', 1)])).toEqual([[400, 'blocked_attachment', 'attachments.0']]);
  });
  it.each([
    ['run.exe', true],
    ['RUN.EXE', true],
    ['run.exe. ', true],
    ['archive.ex_', true],
    ['run.exe.txt', false],
    ['exe', false],
    ['notes', false],
    ['report.pdf', false],
  ])('with the file %j is blocked: %s', (name, isBlocked) => {
    expect(isBlockedFile(name)).toBe(isBlocked);
  });
});
