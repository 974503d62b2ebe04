/**
 * Random operations from eight regions at once, on the whole Worker: objects are written, read, deleted, restored and undeleted
 * while a bucket policy, an identity policy and a suspension are switched and slots move between three shards. The users are in
 * three user databases. Replicas of these lag, are stuck or are cut off, and answers of the shards are lost after their
 * commit. Every name and every right must be linearizable: a read sees each change that was acknowledged before it began, and no
 * write takes effect after the acknowledgement of the change that revokes its right.
 */
import { findViolation, type RegisterEvent } from '../../support/linearizability.ts';
import type { ReplicaFault } from '../../support/replicas.ts';
import { moveSlots } from './history-moves.ts';
import { RightChanges } from './history-rights.ts';
import { type Recorder, VersionedNames } from './history-versions.ts';
import {
  type Answer,
  bindings,
  makeWorld,
  must,
  NAMES,
  REGIONS,
  type Region,
  randomOf,
  type SeededBug,
  type Send,
} from './history-world.ts';

export * from './history-world.ts';

export interface HistoryOptions {
  readonly seed: number;
  /** Number of operations that each region makes in a history. */
  readonly operations: number;
  readonly bug?: SeededBug;
}

const FAULTS: readonly ReplicaFault[] = ['lags', 'lags', 'lags', 'stuck', 'stuck', 'cut off'];

/** Requests that need a right and change no object whose history is checked. `source` is the name to copy. */
const USES: readonly (readonly [method: string, path: string, body?: string | undefined, source?: string])[] = [
  ['GET', '/fixed'],
  ['GET', '/fixed'],
  ['GET', '?list-type=2&prefix=fixed'],
  ['PUT', '/spare', 'small'],
  ['PUT', '/spare', 'large'.repeat(5_000)],
  ['PUT', '/spare', undefined, 'fixed'],
  ['DELETE', '/spare'],
];

const VERSIONING = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>';

/** End of a call. A call without a known outcome may take effect at any time. */
const toEnd = ({ status }: Answer, now: number): number => (status >= 500 ? Number.POSITIVE_INFINITY : now);

/** Position on the scale of operations, for a history of waiting writes: reads, and writes by a right. */
const toWaitingDice = (dice: number): number => (dice < 0.5 ? 0.1 : 0.6);

/** Keeps moves from raising the bucket's generation, because a write that waited for one would be authorised again for that. */
function withSilentMoves(environment: Env): Env {
  const { DIRECTORY: real } = environment;
  const prepare = (sql: string) => real.prepare(sql.replace(/"generation" = .*? \+ 1/, '"generation" = "generation"'));
  return { ...environment, DIRECTORY: Object.assign(Object.create(real), { prepare }) };
}

/** Plays one history. @returns a sentence for each register whose history is not linearizable. */
export async function playHistory({ seed, operations, bug }: HistoryOptions): Promise<string[]> {
  const random = randomOf(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  let isSetUp = false;
  const isLost = () => isSetUp && random() < 0.04;
  const world = await makeWorld({ seed, isLost, ...(bug ? { bug } : {}) });
  const { setFault, catchUp, from, root, bucket, owner, guest, reader, suspect, policy } = world;
  const setUp = from('iad');
  const kept = `${bucket}-kept`;
  await must(setUp('PUT', `/${kept}`, owner.token));
  await must(setUp('PUT', `/${kept}?versioning`, owner.token, VERSIONING));
  // To show bugs of rights at once, rights are only removed, and replicas are stuck: they still have the removed rights.
  const isOfRights = bug === 'no bucket proof' || bug === 'no identity proof';
  // To show bugs of waiting writes at once, most operations are writes of a user who is suspended in the middle.
  const isOfWaits = bug === 'no proof after a renewal';
  if (isOfRights) await must(setUp('PUT', `/${bucket}?policy`, owner.token, policy));
  await catchUp();
  const faults: readonly ReplicaFault[] = isOfRights ? ['stuck'] : FAULTS;
  for (const region of REGIONS) setFault(region, pick(faults));
  isSetUp = true;

  // Counter that orders all events. Inside an isolate, only calls of stores run in parallel, so a counter is enough.
  let clock = 0;
  const histories = new Map<string, RegisterEvent[]>();
  const push = (register: string, event: RegisterEvent) =>
    histories.set(register, [...(histories.get(register) ?? []), event]);
  /** `toValue` returns the register's value that the answer shows; null if it shows none. */
  const record: Recorder = async (register, kind, call, toValue) => {
    const start = clock++;
    const answer = await call();
    const value = toValue(answer);
    if (kind === 'write') push(register, { kind, value: value ?? '', start, end: toEnd(answer, clock++) });
    else if (value !== null) push(register, { kind, value, start, end: clock++ });
    return answer;
  };

  let written = 0;
  const toContent = ({ status, text }: Answer) => (status === 200 ? text : status === 404 ? 'none' : null);
  const toRight = ({ status, text }: Answer) => {
    if (status === 200 || status === 204) return 'allowed';
    return status === 401 || status === 403 ? 'refused' : status >= 500 ? null : `${status} ${text}`;
  };
  const readObject = (send: Send, name = pick(NAMES)) => {
    return record(name, 'read', () => send('GET', `/${bucket}/${name}`, owner.token), toContent);
  };
  const writeObject = (send: Send) => {
    const name = pick(NAMES);
    const value = `${name}-${written++}`;
    return record(
      name,
      'write',
      () => send('PUT', `/${bucket}/${name}`, owner.token, value),
      () => value,
    );
  };
  const deleteObject = (send: Send) => {
    const name = pick(NAMES);
    return record(
      name,
      'write',
      () => send('DELETE', `/${bucket}/${name}`, owner.token),
      () => 'none',
    );
  };
  const holders = [
    ['bucket policy', guest],
    ['identity policy', reader],
    ['suspension', suspect],
  ] as const;
  const rights = new RightChanges();
  const writeByRight = async (send: Send) => {
    const [right, { token }] = isOfWaits ? holders[2] : pick(holders);
    const name = pick(NAMES);
    const value = `${name}-${written++}`.padEnd(random() < 0.3 ? 20_000 : 0, '.');
    const start = clock++;
    const answer = await send('PUT', `/${bucket}/${name}`, token, value);
    const end = toEnd(answer, clock++);
    const shown = toRight(answer);
    if (shown !== null) push(right, { kind: 'read', value: shown, start, end });
    if (shown === 'refused') return;
    push(name, { kind: 'write', value, start, end: shown === null ? end : rights.heldUntil(right, start, end) });
  };
  const exerciseRight = (send: Send) => {
    const [register, { token }] = pick(holders);
    const [method, path, body, source] = pick(USES);
    const headers = source === undefined ? {} : { 'x-amz-copy-source': `/${bucket}/${source}` };
    return record(register, 'read', () => send(method, `/${bucket}${path}`, token, body, headers), toRight);
  };
  const change = async (send: Send) => {
    const isAllowed = !isOfRights && !isOfWaits && random() < 0.5;
    const value = isAllowed ? 'allowed' : 'refused';
    const calls: Record<string, () => Promise<Answer>> = {
      'bucket policy': () =>
        isAllowed
          ? send('PUT', `/${bucket}?policy`, owner.token, policy)
          : send('DELETE', `/${bucket}?policy`, owner.token),
      'identity policy': () =>
        isAllowed
          ? send('PUT', `/v1/iam/users/${reader.userId}/policies/all`, root, world.allow)
          : send('DELETE', `/v1/iam/users/${reader.userId}/policies/all`, root),
      suspension: () =>
        isAllowed
          ? send('DELETE', `/v1/accounts/${suspect.userId}/suspension`, root)
          : send('PUT', `/v1/accounts/${suspect.userId}/suspension`, root, { reason: 'histories' }),
    };
    const register = isOfWaits ? 'suspension' : pick(Object.keys(calls));
    const acknowledge = rights.begin(register, isAllowed, clock);
    const call = async () => {
      const answer = await (calls[register] as () => Promise<Answer>)();
      if (answer.status < 500) acknowledge(clock);
      return answer;
    };
    await record(register, 'write', call, () => value);
  };
  const versions = new VersionedNames(kept, record, pick);
  const exerciseVersions = (region: Region, send: Send) => {
    const ask: Parameters<typeof versions.read>[0] = (method, path, body, headers) =>
      send(method, `/${kept}${path}`, owner.token, body, headers);
    const dice = random();
    if (dice < 0.4) return versions.read(ask);
    if (dice < 0.6) return versions.write(ask);
    if (dice < 0.7) return versions.delete(ask);
    return dice < 0.85 ? versions.restore(ask) : versions.undelete(region, ask);
  };

  const row = await bindings.DIRECTORY.prepare('SELECT bucket_id FROM bucket WHERE name = ?1').bind(bucket).first();
  let isDone = false;
  const moving = moveSlots({
    environment: isOfWaits ? withSilentMoves(world.environmentOf('iad')) : world.environmentOf('iad'),
    bucketId: String(row?.bucket_id),
    names: [...NAMES, 'spare'],
    random,
    now: () => clock,
    isDone: () => isDone,
    async whileSealed() {
      if (!isOfWaits && random() < 0.7) return;
      await change(setUp);
      // Shows the values of the names before a waiting write is committed.
      for (const name of NAMES) await readObject(setUp, name);
    },
  });
  await Promise.all(
    REGIONS.map(async (region) => {
      const send = from(region);
      for (let at = 0; at < operations; at++) {
        if (random() < 0.1) setFault(region, pick(faults));
        const dice = isOfRights ? (random() < 0.1 ? 0.95 : 0.5) : isOfWaits ? toWaitingDice(random()) : random();
        if (dice < 0.25) await readObject(send);
        else if (dice < 0.55) await exerciseRight(send);
        else if (dice < 0.65) await writeByRight(send);
        else if (dice < 0.72) await writeObject(send);
        else if (dice < 0.76) await deleteObject(send);
        else if (dice < 0.88) await exerciseVersions(region, send);
        else await change(send);
      }
    }),
  );
  isDone = true;
  await moving;

  const initial: Readonly<Record<string, string>> = {
    'bucket policy': isOfRights ? 'allowed' : 'refused',
    'identity policy': 'refused',
    suspension: 'allowed',
    ...Object.fromEntries(NAMES.map((name) => [name, 'first'])),
  };
  return [...histories].flatMap(([register, events]) => {
    const left = findViolation(initial[register] ?? 'none', events);
    return left === null ? [] : [`${register} (seed ${seed}): no order explains ${JSON.stringify(left.slice(0, 3))}`];
  });
}

/** Plays histories with a seeded bug until one shows it. @returns whether one did. */
export async function findsBug(bug: SeededBug, most: { histories: number; operations: number }): Promise<boolean> {
  for (let seed = 1; seed <= most.histories; seed++) {
    if ((await playHistory({ seed, operations: most.operations, bug })).length > 0) return true;
  }
  return false;
}
