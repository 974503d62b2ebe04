/**
 * Tests a large import in bounded requests: their number of subrequests, and a repeated upload of the file that finishes the
 * import.
 */
import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { formatMbox } from '../../../workers/mail/domain/mbox.ts';
import { type ImportReport, importMbox } from '../../../workers/mail/inbound/process/import-mail.ts';

const COUNT = 130;
const raws = Array.from({ length: COUNT }, (_, n) => {
  const file =
    n % 10 === 0
      ? `MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\ntext\r\n--b\r\nContent-Disposition: attachment; filename=a.txt\r\n\r\nfile ${n}\r\n--b--\r\n`
      : `\r\ntext ${n}\r\n`;
  return Buffer.from(`From: a@far.test\r\nSubject: ${n}\r\nMessage-ID: <${n}@far.test>\r\n${file}`);
});
const file = Buffer.concat(
  // Makes an mbox file in which the first message occurs twice, the second time at the end.
  [...raws, ...raws.slice(0, 1)].map((raw, n) =>
    formatMbox(
      raw,
      { isRead: true, isFlagged: false, labels: [], folder: n % 2 ? 'Old/Odd' : 'Old' },
      { messageId: `m${n}`, sender: 'a@far.test', receivedAt: Date.UTC(2010, 0, 1) + n * 1_000 },
    ),
  ),
);

/** Returns bindings that count every call out of the Worker. */
function count(calls: { made: number }): Env {
  const counted = <T extends object>(target: T, isCall: (name: string) => boolean): T =>
    new Proxy(target, {
      get(object, name) {
        const member = Reflect.get(object, name);
        if (typeof member !== 'function') return member;
        return (...values: unknown[]) => {
          if (isCall(String(name))) calls.made += 1;
          const answer = Reflect.apply(member, object, values);
          return name === 'get' && object === (env.MAILBOX as unknown) ? counted(answer, () => true) : answer;
        };
      },
    });
  return {
    ...env,
    BLOBS: counted(env.BLOBS, () => true),
    BLOBS_2: counted(env.BLOBS_2, () => true),
    MAILBOX: counted(env.MAILBOX, () => false),
  } as Env;
}

const sumBytes = (report: ImportReport) =>
  report.imported_bytes + report.duplicate_bytes + report.failed_bytes + report.remaining_bytes + report.skipped_bytes;

async function importOnce(userId: string, subrequestsMax?: number) {
  const calls = { made: 0 };
  const body = new Blob([file]).stream() as ReadableStream<Uint8Array>;
  const limits = { writingMsMax: Number.POSITIVE_INFINITY, ...(subrequestsMax ? { subrequestsMax } : {}) };
  const options = { folder: 'inbox', now: Date.now(), ...limits };
  const report = await importMbox(count(calls), userId, body, options);
  return { ...report, calls: calls.made };
}

it('calls the mailbox twice per batch, and R2 once for each object and location', async () => {
  const userId = crypto.randomUUID();
  await openMailbox(env, userId).createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  // Expected R2 writes: one raw message per location. Attachments need none, because they are in the raw messages.
  const objects = 2 * COUNT;
  const batches = Math.ceil((COUNT + 1) / 25);
  const report = await importOnce(userId);
  expect(report).toMatchObject({ messages: COUNT + 1, imported: COUNT, duplicates: 1, failed: 0, remaining: 0 });
  expect([report.size_bytes, sumBytes(report)]).toEqual([file.length, file.length]);
  expect(report.calls).toBeGreaterThanOrEqual(objects);
  // Allow four more calls: two folders are created, each after a check for existing ones.
  expect(report.calls).toBeLessThanOrEqual(objects + 2 * batches + 4);
  const again = await importOnce(userId);
  expect(again).toMatchObject({ imported: 0, duplicates: COUNT + 1, remaining: 0, calls: batches });
});

it('ends after its time with what remains, and finishes when the file is sent again, a batch or more at a time', async () => {
  const userId = crypto.randomUUID();
  await openMailbox(env, userId).createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  const run = () => {
    const body = new Blob([file]).stream() as ReadableStream<Uint8Array>;
    return importMbox(env, userId, body, { folder: 'inbox', now: Date.now(), writingMsMax: 0 });
  };
  const first = await run();
  expect(first).toMatchObject({
    messages: COUNT + 1,
    imported: 25,
    duplicates: 0,
    failed: 0,
    remaining: COUNT + 1 - 25,
  });
  expect(sumBytes(first)).toBe(file.length);
  const second = await run();
  expect(second).toMatchObject({ imported: 25, duplicates: 25, remaining: COUNT + 1 - 50 });
  let report = second;
  for (let requests = 3; report.remaining > 0; requests += 1) {
    expect(requests).toBeLessThanOrEqual(Math.ceil((COUNT + 1) / 25));
    report = await run();
  }
  expect(report).toMatchObject({ duplicates: COUNT + 1 - report.imported, failed: 0 });
});

it('stays within the subrequest limit, reports what remains, and finishes when the file is sent again', async () => {
  const userId = crypto.randomUUID();
  const mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  let imported = 0;
  for (let requests = 1; ; requests += 1) {
    const report = await importOnce(userId, 90);
    expect(report.calls).toBeLessThanOrEqual(90);
    expect(report.messages).toBe(report.imported + report.duplicates + report.remaining);
    expect([report.size_bytes, sumBytes(report)]).toEqual([file.length, file.length]);
    imported += report.imported;
    if (report.remaining === 0) break;
    expect(report.imported).toBeGreaterThan(0);
    expect(requests).toBeLessThan(20);
  }
  expect(imported).toBe(COUNT);
  const profile = await mailbox.readProfile();
  expect(profile.ok && profile.value.usedBytes).toBe(raws.reduce((sum, raw) => sum + raw.byteLength, 0));
});

it('keeps folders, labels and read state of Takeout, and reports the bytes that it refuses', async () => {
  const userId = crypto.randomUUID();
  const mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  const letter = (n: number, labels: string) =>
    `From ${n}@xxx\nX-GM-THRID: ${n}\nX-Gmail-Labels: ${labels}\nSubject: m${n}\n\nbody ${n}\n\n`;
  const rubbish = 'the end of a message\n\n';
  const cut = formatMbox(
    Buffer.from('Subject: cut\n\nbody\n'),
    { isRead: true, isFlagged: false, labels: [], folder: null },
    { messageId: 'm', sender: 'a@far.test', receivedAt: 0 },
  ).subarray(0, -4);
  const takeout = Buffer.concat([
    Buffer.from(rubbish + letter(1, 'Inbox,Unread,Work/Old') + letter(2, 'Sent,Starred') + letter(3, 'Trash')),
    cut,
  ]);
  const body = () => new Blob([takeout]).stream() as ReadableStream<Uint8Array>;
  const report = await importMbox(env, userId, body(), { folder: 'inbox', now: Date.now() });
  const offset = takeout.length - cut.length;
  expect(report).toMatchObject({
    messages: 4,
    imported: 3,
    failed: 1,
    size_bytes: takeout.length,
    skipped_bytes: rubbish.length,
    failed_bytes: cut.length,
    failures: [{ index: 3, code: 'cut_off', offset, size_bytes: cut.length }],
  });
  expect(sumBytes(report)).toBe(takeout.length);
  const folders = await mailbox.listFolders();
  const counts = folders.ok ? folders.value.map(({ role, total, unread }) => [role, total, unread]) : [];
  expect(counts).toContainEqual(['inbox', 1, 1]);
  expect(counts).toContainEqual(['sent', 1, 0]);
  expect(counts).toContainEqual(['trash', 1, 0]);
  const labels = await mailbox.countLabels('', 10);
  expect(labels.ok && labels.value).toEqual([{ label: 'Work/Old', total: 1, unread: 1 }]);
  const again = await importMbox(env, userId, body(), { folder: 'inbox', now: Date.now() });
  expect(again).toMatchObject({ imported: 0, duplicates: 3, failed: 1 });
  expect(sumBytes(again)).toBe(takeout.length);
});
