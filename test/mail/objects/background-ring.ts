/**
 * Runs background work of mail with one fault at one chosen call of a store, a mailbox or Email Service: the call fails before or after
 * it takes effect, is silent, takes effect late, or the power goes. Then senders repeat what was refused, hours pass and the alarms run.
 *
 * Each 250 is one readable message with its file, each failure is one report and no report has a report, each message leaves once, and a
 * message that is taken back is a draft with its file or was sent.
 */
import { env as bindings, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { expect, vi } from 'vitest';
import { listAutomatic, queueAutomatic, removeAutomatic } from '../../../durable-objects/mail/rules/automatic-store.ts';
import { registerAccount } from '../../../workers/mail/accounts/accounts.ts';
import { getBlob } from '../../../workers/mail/bindings/blobs.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { acceptMessage } from '../../../workers/mail/inbound/accept/accept-message.ts';
import { processIncoming } from '../../../workers/mail/inbound/process/process-incoming.ts';
import { readAttachment } from '../../../workers/mail/inbound/process/stored-attachment.ts';
import { MailboxJobs } from '../../../workers/mail/mailbox-jobs.ts';
import { sendAutomatic } from '../../../workers/mail/outbound/automatic-mail.ts';
import { sendDue } from '../../../workers/mail/outbound/send-due.ts';
import { sendReports } from '../../../workers/mail/outbound/send-reports.ts';
import { submitMessage } from '../../../workers/mail/outbound/submission/submit-message.ts';
import { createEmailService, type EmailServiceStandIn } from '../../support/mail/email-service.ts';
import { type BindingCall, wrapEnvironment } from '../../support/platform/wrap-bindings.ts';

export const FAULTS = ['before', 'after', 'silent', 'late', 'cut before', 'cut after'] as const;
export type Fault = (typeof FAULTS)[number];

const HOUR_MS = 3_600_000;
const FILE = 'The bytes of the file.';
const FAR = 'far@away.test';

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

interface Person {
  readonly userId: string;
  readonly name: string;
  readonly email: string;
}

interface Scene {
  readonly env: Env;
  readonly service: EmailServiceStandIn;
  readonly people: readonly [Person, Person, Person];
  readonly subject: string;
  /** Recipients of the message that were not answered with 250. Their sender repeats it to them. */
  readonly refused: Set<string>;
  /** Id of the message that was submitted; '' if none was. */
  readonly messageId: string;
}

interface Work {
  /** Creates the state that the tested work needs. @returns the id of a submitted message. */
  readonly prepare: (scene: Scene) => Promise<string | undefined>;
  readonly run: (scene: Scene, env: Env) => Promise<unknown>;
  /** Work that its client repeats until it succeeds. */
  readonly repeat?: (scene: Scene) => Promise<unknown>;
  readonly check: (scene: Scene, where: string, hit: string) => Promise<void>;
}

/** Time by which the clock is ahead. */
let offsetMs = 0;
/** Bindings of the jobs that alarms start. */
let jobsEnv: Env | null = null;

async function register(env: Env, name: string): Promise<Person> {
  const email = `${name}-${crypto.randomUUID()}@example.test`;
  const source = { client: crypto.randomUUID(), url: 'http://localhost/' };
  const request = { email, password: 'correct horse battery', name };
  return { userId: value(await registerAccount(env, request, source, Date.now())).userId, name, email };
}

const rawOf = (subject: string) =>
  `From: a@far.test\r\nSubject: ${subject}\r\nMessage-ID: <${subject}@far.test>\r\nDate: Sat, 21 Nov 2026 00:00:00 +0000\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nThe text.\r\n--b\r\nContent-Type: text/plain; name=a.txt\r\nContent-Disposition: attachment; filename=a.txt\r\n\r\n${FILE}\r\n--b--\r\n`;

/** Offers a message to those who were not answered with 250, as its sender does. */
async function offer({ subject, refused }: Scene, env: Env): Promise<void> {
  const raw = rawOf(subject);
  const to = [...refused];
  if (to.length === 0) return;
  const envelope = { from: 'a@far.test', to, clientIp: null, helo: null };
  const source = { body: new Blob([raw]).stream(), sizeBytes: raw.length };
  const replies = await acceptMessage(env, envelope, source, { origin: 'local' });
  for (const [n, { smtp_code: code }] of replies.entries()) if (code === 250) refused.delete(to[n] ?? '');
}

/** The messages of a folder with a text in their subject: their text, and the bytes of their files. */
async function read({ env }: Scene, { userId }: Person, folder: string, subject: string): Promise<string[]> {
  const mailbox = openMailbox(env, userId);
  const listed = value(await mailbox.listMessages(folder, { offset: 0 }, 50));
  const found = listed.filter((message) => message.subject.includes(subject));
  return Promise.all(
    found.map(async ({ messageId }) => {
      const { text, attachments, rawKey } = value(await mailbox.readMessage(messageId));
      const files = attachments.map(async (file) => toText(await readAttachment(env, rawKey, file)));
      return [String(text.value).trim(), ...(await Promise.all(files))].join(' + ');
    }),
  );
}

async function toText(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string> {
  const found: Uint8Array[] = [];
  for await (const piece of pieces) found.push(piece);
  return Buffer.concat(found).toString().trim();
}

const inSql = (person: Person, work: (sql: SqlStorage) => unknown): Promise<void> =>
  runInDurableObject(openMailbox(bindings as Env, person.userId) as unknown as DurableObjectStub, (_, state) => {
    work(state.storage.sql);
  });
const setLimit = (person: Person, bytes: number) =>
  inSql(person, (sql) => sql.exec('UPDATE mailbox SET limit_bytes = ?', bytes));

const toForward = (messageId: string, { email }: Person) =>
  ({ kind: 'forward', messageId, recipient: email, envelopeFrom: 'a@far.test' }) as const;

const RECEIVED = `The text. + ${FILE}`;

async function expectReceived(scene: Scene, where: string): Promise<void> {
  for (const [n, person] of scene.people.entries())
    expect(await read(scene, person, 'inbox', scene.subject), `${where}, recipient ${n}`).toEqual([RECEIVED]);
}

async function submit({ env, people: [ann], subject }: Scene, to: string, sendAt?: number): Promise<string> {
  const attachments = [
    { file_name: 'a.txt', content_type: 'text/plain', content: Buffer.from(FILE).toString('base64') },
  ];
  const send_at = sendAt === undefined ? {} : { send_at: new Date(sendAt).toISOString() };
  const request = { to: [{ email: to }], subject, body: 'The text.', attachments, ...send_at };
  const options = { idempotencyKey: null, requestJson: JSON.stringify(request) };
  return value(await submitMessage(env, ann, request, options)).messageId;
}

/** Email Service answered, but the answer or its record may have been lost: then the message may leave a second time. */
const isAfterSending = (hit: string): boolean => /EMAIL\.send|recordOutcomes/.test(hit);

function expectLeftOnce({ service, subject }: Scene, where: string, hit: string): void {
  const left = service.sunk.filter(({ raw }) => raw.includes(subject)).length;
  expect(left, where).toBeGreaterThanOrEqual(1);
  expect(left, where).toBeLessThanOrEqual(isAfterSending(hit) ? 2 : 1);
}

export const WORKS: Readonly<Record<string, Work>> = {
  'acceptance for three, one full and one that has it': {
    prepare: async (scene) => {
      const [, bob, cy] = scene.people;
      scene.refused.clear();
      scene.refused.add(bob.email);
      await offer(scene, scene.env);
      for (const { email } of scene.people) scene.refused.add(email);
      await setLimit(cy, 1);
      return undefined;
    },
    run: (scene, env) => offer(scene, env),
    repeat: async (scene) => {
      await setLimit(scene.people[2], 1e9);
      await offer(scene, scene.env);
    },
    check: expectReceived,
  },
  processing: {
    prepare: async (scene) => {
      await offer(scene, scene.env);
      expect(scene.refused.size).toBe(0);
      return undefined;
    },
    run: ({ people: [ann] }, env) => processIncoming(env, ann.userId),
    check: expectReceived,
  },
  sending: {
    prepare: (scene) => submit(scene, FAR),
    run: ({ people: [ann] }, env) => sendDue(env, [ann.userId]),
    check: async (scene, where, hit) => {
      expectLeftOnce(scene, where, hit);
      expect(await read(scene, scene.people[0], 'sent', scene.subject), where).toEqual([RECEIVED]);
      expect(await read(scene, scene.people[0], 'inbox', ''), where).toEqual([]);
    },
  },
  'a retry': {
    prepare: async (scene) => {
      const id = await submit(scene, FAR);
      scene.service.failWith = 'E_INTERNAL_SERVER_ERROR';
      await sendDue(scene.env, [scene.people[0].userId]);
      scene.service.failWith = null;
      offsetMs += HOUR_MS;
      return id;
    },
    run: ({ people: [ann] }, env) => sendDue(env, [ann.userId]),
    check: async (scene, where, hit) => expectLeftOnce(scene, where, hit),
  },
  'a report': {
    prepare: async (scene) => {
      const id = await submit(scene, FAR);
      scene.service.failWith = 'E_CONTENT_TOO_LARGE';
      await sendDue(scene.env, [scene.people[0].userId]);
      return id;
    },
    run: async ({ people: [ann] }, env) => {
      await sendReports(env, ann.userId);
      await sendDue(env, [ann.userId]);
      await processIncoming(env, ann.userId);
    },
    check: async (scene, where) => {
      const [ann] = scene.people;
      expect(await read(scene, ann, 'inbox', ''), where).toHaveLength(1);
      expect(scene.service.sunk, where).toEqual([]);
      expect(value(await openMailbox(scene.env, ann.userId).listDueReports(10)), where).toEqual([]);
    },
  },
  'a forward': {
    prepare: async (scene) => {
      const [ann, bob] = scene.people;
      scene.refused.clear();
      scene.refused.add(ann.email);
      await offer(scene, scene.env);
      await processIncoming(scene.env, ann.userId);
      const [message] = value(await openMailbox(scene.env, ann.userId).listMessages('inbox', { offset: 0 }, 1));
      const messageId = message?.messageId ?? '';
      await inSql(ann, (sql) => queueAutomatic(sql, toForward(messageId, bob), Date.now()));
      return messageId;
    },
    // As the alarm does: the row is removed once the mail is in the outbox.
    run: async ({ people: [ann, bob], messageId }, env) => {
      await sendAutomatic(env, ann.userId, toForward(messageId, bob));
      await inSql(ann, (sql) => {
        for (const { sendId } of [...listAutomatic(sql)]) removeAutomatic(sql, sendId);
      });
      await sendDue(env, [ann.userId]);
      await processIncoming(env, bob.userId);
    },
    check: async (scene, where, hit) => {
      const [ann, bob] = scene.people;
      expect(await read(scene, ann, 'inbox', scene.subject), where).toEqual([RECEIVED]);
      const forwarded = await read(scene, bob, 'inbox', scene.subject);
      // By design, an interrupted forward may be sent twice (`automatic-mail.ts`).
      expect(forwarded.length, where).toBeLessThanOrEqual(/enqueueOutbox|recordOutcomes/.test(hit) ? 2 : 1);
      expect(new Set(forwarded), where).toEqual(new Set([RECEIVED]));
    },
  },
  'a message that is taken back': {
    prepare: (scene) => submit(scene, FAR, Date.now() + 6 * HOUR_MS),
    run: ({ people: [ann], messageId }, env) => openMailbox(env, ann.userId).cancelSubmission(messageId),
    repeat: ({ env, people: [ann], messageId }) => openMailbox(env, ann.userId).cancelSubmission(messageId),
    check: async (scene, where) => {
      expect(scene.service.sunk, where).toEqual([]);
      const [ann] = scene.people;
      const drafts = value(await openMailbox(scene.env, ann.userId).listMessages('drafts', { offset: 0 }, 10));
      expect(drafts, where).toHaveLength(1);
      const draft = value(await openMailbox(scene.env, ann.userId).readDraft(drafts[0]?.messageId ?? ''));
      const files = draft.attachments.map(async ({ r2Key }) => (await getBlob(scene.env, r2Key))?.text());
      expect(await Promise.all(files), where).toEqual([FILE]);
    },
  },
};

interface Case {
  readonly work: string;
  readonly how: Fault;
  /** Number of the call that meets the fault. */
  readonly at: number;
}

interface Plan {
  calls: number;
  hit: string;
  isSilent: boolean;
  isOver: boolean;
  late: Promise<unknown>;
  /** Lets a late call take effect. */
  arrive: () => void;
}

/** Passes a call on, unless it is the one that meets the fault. */
async function callWithFault<T>({ how, at }: Case, plan: Plan, name: string, run: () => Promise<T>): Promise<T> {
  if (plan.isOver) throw new Error('the invocation has ended');
  const call = plan.calls++;
  if (call !== at) return run();
  plan.hit = name;
  if (how.startsWith('cut')) plan.isOver = true;
  if (how === 'after' || how === 'cut after') await run();
  if (how === 'late') {
    plan.late = new Promise<void>((resolve) => {
      plan.arrive = resolve;
    }).then(run, () => {});
    plan.late.catch(() => {});
  }
  if (how === 'silent' || how === 'late') {
    plan.isSilent = true;
    return new Promise<never>(() => {});
  }
  throw new Error(`injected ${how} ${name}`);
}

/** Names a call. A call of a mailbox in a trace has its method in its arguments. */
const describe = ({ kind, binding, method, args }: BindingCall): string =>
  `${kind} ${binding}.${method === 'inTrace' ? String(args[1]) : method}`;

const POLL_MS = 10;
const QUIET_POLLS = 4;

/** Waits for the end of the work. If it waits for a silent call and does nothing else, the platform ends it. */
async function runToEnd(work: Promise<unknown>, plan: Plan): Promise<void> {
  let isDone = false;
  const end = work.then(
    () => {
      isDone = true;
    },
    () => {
      isDone = true;
    },
  );
  for (let quiet = 0, calls = 0; !isDone && quiet < QUIET_POLLS; ) {
    await Promise.race([end, new Promise((resolve) => setTimeout(resolve, POLL_MS))]);
    quiet = plan.isSilent && plan.calls === calls ? quiet + 1 : 0;
    calls = plan.calls;
  }
  plan.isOver = true;
}

async function makeScene(): Promise<Omit<Scene, 'messageId'>> {
  const service = createEmailService();
  const about = { EMAIL: service.binding, MAIL_HOLD_SECONDS: '0', MAIL_HINTS: 'lost' };
  const env = { ...bindings, ...about } as unknown as Env;
  const people = [await register(env, 'ann'), await register(env, 'bob'), await register(env, 'cy')] as const;
  return { env, service, people, subject: crypto.randomUUID(), refused: new Set(people.map(({ email }) => email)) };
}

/** Lets hours pass, in which alarms run. */
async function settle({ env, people }: Scene): Promise<void> {
  jobsEnv = env;
  for (let hour = 0; hour < 4; hour++) {
    offsetMs += HOUR_MS;
    for (const { userId } of people) {
      const mailbox = openMailbox(env, userId);
      await runDurableObjectAlarm(mailbox as unknown as DurableObjectStub);
      await sendDue(env, [userId]);
      await sendReports(env, userId);
      await processIncoming(env, userId);
    }
  }
}

/** Sets the clock, and makes the jobs of alarms use the bindings of the case. Call it before each test. */
export function prepareRing(): void {
  const realNow = Date.now;
  offsetMs = 0;
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + offsetMs);
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'log').mockImplementation(() => {});
  const env = () => jobsEnv ?? (bindings as Env);
  vi.spyOn(MailboxJobs.prototype, 'processIncoming').mockImplementation((userId) => processIncoming(env(), userId));
  vi.spyOn(MailboxJobs.prototype, 'sendOutbox').mockImplementation(
    async (userId) => void (await sendDue(env(), [userId])),
  );
  vi.spyOn(MailboxJobs.prototype, 'sendReports').mockImplementation(
    async (userId) => void (await sendReports(env(), userId)),
  );
  vi.spyOn(MailboxJobs.prototype, 'sendAutomatic').mockImplementation((userId, send) =>
    sendAutomatic(env(), userId, send),
  );
}

/** Runs one case. @returns the call that met the fault; '' if the work has fewer calls. */
export async function runMailCase(chosen: Case): Promise<string> {
  const work = WORKS[chosen.work];
  if (work === undefined) throw new Error(`unknown work: ${chosen.work}`);
  const made = await makeScene();
  const scene: Scene = { ...made, messageId: (await work.prepare({ ...made, messageId: '' })) ?? '' };
  const plan: Plan = { calls: 0, hit: '', isSilent: false, isOver: false, late: Promise.resolve(), arrive: () => {} };
  const env = wrapEnvironment({ ...scene.env }, (call, run) => callWithFault(chosen, plan, describe(call), run));
  await runToEnd(work.run(scene, env), plan);
  jobsEnv = scene.env;
  // The lease of a worker that was cut ends, and what came late arrives while the next one works.
  offsetMs += HOUR_MS;
  plan.arrive();
  await work.repeat?.(scene);
  await plan.late.catch(() => {});
  await settle(scene);
  await work.check(scene, `${chosen.work}, ${chosen.how} at call ${chosen.at}: ${plan.hit}`, plan.hit);
  return plan.hit;
}
