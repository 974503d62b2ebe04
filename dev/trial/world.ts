/** The context of a trial's steps: the deployment, its clients and the platform. */
import { S3Client } from '@aws-sdk/client-s3';
import type { TrialPlatform } from './platform.ts';

export interface TrialWorld {
  /** Random name of the environment, such as `trial4f9a02`. Everything that the trial makes has it in its name. */
  readonly name: string;
  /** Origin of the web app and the JSON APIs, and that of storage. */
  readonly appOrigin: string;
  readonly storageOrigin: string;
  readonly mailDomain: string;
  /** Address that gets the one mail that leaves. Empty: no mail leaves. */
  readonly mailTo: string;
  readonly rootToken: string;
  readonly platform: TrialPlatform;
  /** Aborted when the trial's time is over or somebody interrupts it. */
  readonly signal: AbortSignal;
  /** Counts the requests that the trial sends. */
  readonly requests: RequestCount;
  /** Waits, or throws if the trial ends meanwhile. */
  pause(ms: number): Promise<void>;
}

export interface RequestCount {
  add(): void;
  read(): number;
}

export function countRequests(): RequestCount {
  let count = 0;
  return { add: () => void count++, read: () => count };
}

/** Results of a step, as plain values for `trial.json`. */
export type Facts = Readonly<Record<string, unknown>>;

export interface Step {
  readonly name: string;
  /** @throws Error with a sentence if something is not as promised. */
  run(world: TrialWorld, known: Known): Promise<Facts>;
}

/** Things that earlier steps made and that later steps need. */
export interface Known {
  s3?: S3Client;
  bucket?: string;
  scoreToken?: string;
  mailToken?: string;
  email?: string;
}

const TIMEOUT_MS = 30_000;

// biome-ignore lint/suspicious/noExplicitAny: answers of the API; each step reads the members it needs
type Json = any;

/** Calls the JSON API. @returns the body. @throws Error unless the status is 2xx or `allowed`. */
export async function call(
  world: TrialWorld,
  [method, path]: readonly [string, string],
  body?: unknown,
  { token = world.rootToken, allowed = 0 }: { token?: string | null; allowed?: number } = {},
): Promise<Json> {
  world.requests.add();
  const answer = await fetch(world.appOrigin + path, {
    method,
    headers: { 'content-type': 'application/json', ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
    signal: AbortSignal.any([world.signal, AbortSignal.timeout(TIMEOUT_MS)]),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok && answer.status !== allowed) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
  return text === '' ? {} : JSON.parse(text);
}

/** Makes a client of storage. Each of its tries counts as a request. */
export function toS3Client(world: TrialWorld, accessKeyId: string, secretAccessKey: string): S3Client {
  const client = new S3Client({
    endpoint: world.storageOrigin,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  });
  client.middlewareStack.add(
    (next) => (args) => {
      world.requests.add();
      return next(args);
    },
    { step: 'finalizeRequest', name: 'count' },
  );
  return client;
}

/** Returns a member that an earlier step made. @throws Error if it is missing. */
export function need<K extends keyof Known>(known: Known, name: K): NonNullable<Known[K]> {
  const value = known[name];
  if (value === undefined) throw new Error(`no earlier step made ${name}`);
  return value;
}

/** Asks again until the answer is not undefined. @throws Error after the time. */
export async function until<T>(
  world: TrialWorld,
  what: string,
  ms: number,
  ask: () => Promise<T | undefined>,
): Promise<T> {
  const endsAt = Date.now() + ms;
  for (;;) {
    const found = await ask();
    if (found !== undefined) return found;
    if (Date.now() > endsAt) throw new Error(`${what}: not within ${Math.round(ms / 1000)} seconds`);
    await world.pause(1_000);
  }
}
