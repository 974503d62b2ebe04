/** The steps of a rescue: the routes of docs/operations.md, in their order, called until each is finished. */

/** Calls a route of the rescued installation with ROOT_TOKEN. */
export type Call = (
  method: 'GET' | 'POST',
  path: string,
  body?: object,
) => Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }>;

export interface RescueCounts {
  /** Numbers of `DIRECTORY_n` and of `OBJECTS_n` that the S3 location knows. */
  readonly directories: number;
  readonly shards: number;
}

export interface RescueOptions {
  readonly until?: string;
  /** Whether the rescued installation writes to the S3 location from now on. */
  readonly isTakenOver: boolean;
  readonly print: (line: string) => void;
}

/** One line for each thing that could not be restored. Empty if everything was restored. */
export type Losses = string[];

type Body = Readonly<Record<string, unknown>>;

async function must(call: Call, path: string, body: object = {}): Promise<Body> {
  const answer = await call('POST', path, body);
  if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Calls a route that copies until it has no further cursor. @returns the sums of its counts. */
async function copyAll(call: Call, path: string, options: object, from = ''): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (let cursor: unknown = from; cursor !== null; ) {
    const body = await must(call, path, { ...options, cursor });
    for (const [name, value] of Object.entries(body))
      if (typeof value === 'number') sums[name] = (sums[name] ?? 0) + value;
    cursor = body.next_cursor;
  }
  return sums;
}

async function untilFinished(call: Call, path: string, body: object): Promise<Body> {
  for (;;) {
    const answer = await must(call, path, body);
    if (answer.finished === true) return answer;
  }
}

/** Reads all items of a collection. @returns an empty list if the product is not served. */
async function listAll(call: Call, path: string): Promise<Body[]> {
  const items: Body[] = [];
  for (let cursor: unknown = ''; cursor !== null; ) {
    const query = cursor === '' ? '' : `&cursor=${encodeURIComponent(String(cursor))}`;
    const { status, body } = await call('GET', `${path}?limit=100${query}`);
    if (status === 404) return items;
    if (status >= 300) throw new Error(`${path} answered ${status}: ${JSON.stringify(body)}`);
    items.push(...(body.data as Body[]));
    cursor = body.next_cursor;
  }
  return items;
}

/** Rebuilds an empty installation from the S3 location that it is configured with. Can be interrupted and repeated. */
export async function rescue(call: Call, counts: RescueCounts, options: RescueOptions): Promise<Losses> {
  const { print, until, isTakenOver } = options;
  const losses: Losses = [];
  const report = (what: string, body: object) => print(`${what}: ${JSON.stringify(body)}`);
  const isFresh = await fill(call, options, losses);
  for (let database = 0; database < counts.directories; database++) {
    const path = `/v1/storage/directory/rebuild?database=${database}`;
    const isDone = (await call('POST', path, {})).body;
    if (isDone.code === 'not_empty' && isFresh)
      throw new Error(`DIRECTORY ${database} has people already. Bind an empty database, and run the rescue again.`);
    if (isDone.code === 'not_empty') continue;
    report(`DIRECTORY ${database}`, isDone.finished === true ? isDone : await untilFinished(call, path, {}));
  }
  for (let shard = 0; shard < counts.shards; shard++) {
    const first = (await call('POST', '/v1/storage/rebuild', { shard })).body;
    if (first.code === 'not_empty') continue;
    const done = first.finished === true ? first : await untilFinished(call, '/v1/storage/rebuild', { shard });
    report(`OBJECTS_${shard}`, done);
    if (Number(done.versions_incomplete) > 0)
      losses.push(`OBJECTS_${shard}: ${done.versions_incomplete} versions lack bytes`);
  }
  await rebuildMailboxes(call, print, losses);
  await restoreBoards(call, print, losses);
  await must(call, '/v1/locations/s3/rescue/end', { take_over: isTakenOver });
  print(until === undefined ? 'The rescue is finished.' : `The rescue of the state at ${until} is finished.`);
  return losses;
}

/** Ranges of keys that are copied at the same time. Each request is an invocation with six connections of its own. */
const RANGES_AT_ONCE = 8;

/** The ranges: one for each first digit of the id of a blob, and the keys before and after the blobs. */
function* toRanges(): Generator<readonly [after: string, before: string]> {
  const digits = [...'0123456789abcdef'];
  yield ['', 'blobs/0'];
  for (const [at, digit] of digits.entries())
    yield [`blobs/${digit}`, at === 15 ? 'blobs0' : `blobs/${digits[at + 1]}`];
  yield ['blobs0', ''];
}

/** Copies the bytes into the buckets. @returns false if an earlier rescue, which was cut later, has done it. */
async function fill(call: Call, { until, print }: RescueOptions, losses: Losses): Promise<boolean> {
  const path = '/v1/locations/s3/rescue';
  const probe = await call('POST', path, { cursor: '\u{10ffff}', max_seconds: 1 });
  // An earlier rescue that was cut in the rebuilds has copied everything.
  if (probe.body.code === 'not_empty') {
    print('The bytes are here already.');
    return false;
  }
  if (probe.status >= 300) throw new Error(`${path} answered ${probe.status}: ${JSON.stringify(probe.body)}`);
  const copied: Record<string, number> = {};
  const ranges = [...toRanges()];
  const copyRanges = async () => {
    for (let range = ranges.shift(); range !== undefined; range = ranges.shift()) {
      const [cursor, before] = range;
      const sums = await copyAll(call, path, { before, ...(until === undefined ? {} : { until }) }, cursor);
      for (const [name, value] of Object.entries(sums)) copied[name] = (copied[name] ?? 0) + value;
    }
  };
  await Promise.all(Array.from({ length: RANGES_AT_ONCE }, copyRanges));
  print(`bytes from the S3 location: ${JSON.stringify(copied)}`);
  if (Number(copied.failed) > 0) losses.push(`${copied.failed} objects of the S3 location are damaged or missing`);
  print(`second copy: ${JSON.stringify(await copyAll(call, '/v1/locations/refill', {}))}`);
  return true;
}

async function rebuildMailboxes(call: Call, print: (line: string) => void, losses: Losses): Promise<void> {
  let accounts = 0;
  let messages = 0;
  for (const { user_id: userId } of await listAll(call, '/v1/iam/users')) {
    const { status, body } = await call('POST', `/v1/accounts/${userId}/rebuild`, {});
    if (status === 404) continue;
    if (status >= 300) {
      losses.push(`mailbox of ${userId}: ${JSON.stringify(body)}`);
      continue;
    }
    accounts++;
    messages += Number(body.recovered);
    const missing = (body.missing as unknown[]).length;
    if (missing > 0) losses.push(`mailbox of ${userId}: ${missing} messages lack bytes`);
  }
  if (accounts > 0) await must(call, '/v1/collectors/mail/acknowledge', { take_over: true });
  print(`mailboxes: ${accounts}, messages: ${messages}`);
}

/** Restores each shard of each season that has a copy. */
async function restoreBoards(call: Call, print: (line: string) => void, losses: Losses): Promise<void> {
  const boards = await listAll(call, '/v1/boards');
  const mounts = ['/v1', ...boards.map(({ board }) => `/v1/boards/${board}`)];
  let players = 0;
  for (const mount of mounts) {
    for (const { season } of await listAll(call, `${mount}/seasons`)) {
      for (let shard = 0; ; shard++) {
        const { status, body } = await call('POST', `${mount}/seasons/${season}/shards/${shard}/restore`, {});
        if (status === 404 || body.code === 'not_current') break;
        if (status === 200) players += Number(body.players);
        // A shard without a copy never had players, or none for an hour. A repeated rescue finds it restored.
        else if (body.code !== 'copy_missing' && body.code !== 'copy_older')
          losses.push(`shard ${shard} of ${mount} ${season}: ${JSON.stringify(body)}`);
      }
    }
  }
  print(`players of boards: ${players}`);
}
