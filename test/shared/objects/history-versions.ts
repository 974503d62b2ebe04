/** Operations of a history on a versioned bucket: versions are written, deleted, restored by a copy, and undeleted. */

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly versionId: string | null;
}

/** Sends a request of the bucket's owner. @param path what follows the name of the bucket. */
export type Ask = (method: string, path: string, body?: string, headers?: Record<string, string>) => Promise<Answer>;

/** Records a call of a register. A write has the value that `toValue` returns. */
export type Recorder = (
  register: string,
  kind: 'read' | 'write',
  call: () => Promise<Answer>,
  toValue: (answer: Answer) => string | null,
) => Promise<Answer>;

const toContent = ({ status, text }: Answer) => (status === 200 ? text : status === 404 ? 'none' : null);

/** The name that every region writes. */
const SHARED = 'shared';

/** What the regions know of the bucket. Only one region writes an own name, so it knows which version a marker hides. */
export class VersionedNames {
  readonly #bucket: string;
  readonly #record: Recorder;
  readonly #pick: <T>(list: readonly T[]) => T;
  readonly #versions: { readonly versionId: string; readonly value: string }[] = [];
  /** The current own name of each region, by region. */
  readonly #own = new Map<string, string>();
  #made = 0;

  constructor(bucket: string, record: Recorder, pick: <T>(list: readonly T[]) => T) {
    this.#bucket = bucket;
    this.#record = record;
    this.#pick = pick;
  }

  async read(ask: Ask): Promise<void> {
    const name = this.#pick([SHARED, SHARED, ...this.#own.values()]);
    await this.#record(name, 'read', () => ask('GET', `/${name}`), toContent);
  }

  async write(ask: Ask): Promise<void> {
    const value = `${SHARED}-${this.#made++}`;
    const put = () => ask('PUT', `/${SHARED}`, value);
    const { status, versionId } = await this.#record(SHARED, 'write', put, () => value);
    if (status === 200 && versionId !== null) this.#versions.push({ versionId, value });
  }

  async delete(ask: Ask): Promise<void> {
    await this.#record(
      SHARED,
      'write',
      () => ask('DELETE', `/${SHARED}`),
      () => 'none',
    );
  }

  /** Restores an older version: copies it, so that it becomes the current one. */
  async restore(ask: Ask): Promise<void> {
    if (this.#versions.length === 0) return await this.write(ask);
    const { versionId, value } = this.#pick(this.#versions);
    const source = `/${this.#bucket}/${SHARED}?versionId=${versionId}`;
    const copy = () => ask('PUT', `/${SHARED}`, undefined, { 'x-amz-copy-source': source });
    await this.#record(SHARED, 'write', copy, () => value);
  }

  /** Writes the region's own name, deletes it, and undeletes it by the removal of the delete marker. */
  async undelete(region: string, ask: Ask): Promise<void> {
    const name = this.#own.get(region) ?? `own-${region}-${this.#made++}`;
    this.#own.set(region, name);
    const value = `${name}-${this.#made++}`;
    const put = () => ask('PUT', `/${name}`, value);
    const written = await this.#record(name, 'write', put, () => value);
    const remove = () => ask('DELETE', `/${name}`);
    const removed = written.status === 200 ? await this.#record(name, 'write', remove, () => 'none') : written;
    const marker = removed.status === 204 ? removed.versionId : null;
    const undo = () => ask('DELETE', `/${name}?versionId=${marker}`);
    const undone = marker === null ? removed : await this.#record(name, 'write', undo, () => value);
    // After an unknown outcome, the region does not know which version is current.
    if (undone.status !== 204) this.#own.delete(region);
  }
}
