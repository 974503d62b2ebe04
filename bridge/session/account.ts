/** State that the connections of one token share: folders, rows of selected folders, and one WebSocket for pushes. */
import type { Folder, Overview } from './account-api.ts';
import { Client, type EventSocket, RequestError, type ServerOptions } from './client.ts';
import { FolderMirror } from './folder-mirror.ts';

/** Idle WebSockets of the platform end after about two minutes. */
const PING_MS = 55_000;
const PONG_MS = 20_000;
const RECONNECT_MS = [500, 2_000, 5_000, 15_000, 30_000];
/** A list of folders is read again after this time, or after a change. */
const OVERVIEW_MS = 2_000;
/** Rows of folders that no connection has selected. */
const SPARE_ROWS_MAX = 200_000;

export type Listener = () => void;

export class Account {
  readonly client: Client;
  readonly userId: string;
  readonly #mirrors = new Map<string, { mirror: FolderMirror; users: number }>();
  readonly #listeners = new Set<Listener>();
  #overview: Overview;
  #readAt: number;
  #areFoldersStale = false;
  #pushedState: string;
  #socket: EventSocket | null = null;
  #attempts = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;
  #hasEnded = false;

  constructor(client: Client, overview: Overview) {
    this.client = client;
    this.userId = overview.user_id;
    this.#overview = overview;
    this.#readAt = Date.now();
    this.#pushedState = overview.state;
  }

  /** Whether the token no longer opens the account. Its connections must end. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  get overview(): Overview {
    return this.#overview;
  }

  /** @throws RequestError */
  async readOverview(): Promise<Overview> {
    if (Date.now() - this.#readAt < OVERVIEW_MS) return this.#overview;
    this.#overview = await this.client.readOverview();
    this.#readAt = Date.now();
    this.#areFoldersStale = false;
    return this.#overview;
  }

  /** Makes the next `readOverview` ask the server, after a change. */
  forgetOverview(): void {
    this.#readAt = 0;
  }

  /** Makes the next `findFolder` ask the server, after a folder was made, renamed or deleted. */
  forgetFolders(): void {
    this.#areFoldersStale = true;
    this.forgetOverview();
  }

  /** Finds a folder by its name; `INBOX` in any case is the Inbox. Asks the server again before it answers null. */
  async findFolder(name: string): Promise<Folder | null> {
    const find = (overview: Overview) =>
      overview.folders.find((folder) => (folder.role === 'inbox' ? isInbox(name) : folder.name === name)) ?? null;
    return (this.#areFoldersStale ? null : find(this.#overview)) ?? find(await this.readOverview());
  }

  /** @returns the rows of a folder, which `release` gives back. */
  hold(folderId: string): FolderMirror {
    const known = this.#mirrors.get(folderId);
    const entry =
      known && !known.mirror.isInvalid ? known : { mirror: new FolderMirror(this.client, folderId), users: 0 };
    this.#mirrors.delete(folderId);
    this.#mirrors.set(folderId, { ...entry, users: entry.users + 1 });
    this.#connect();
    return entry.mirror;
  }

  release(mirror: FolderMirror): void {
    const entry = this.#mirrors.get(mirror.folderId);
    if (entry?.mirror !== mirror) return;
    this.#mirrors.set(mirror.folderId, { mirror, users: entry.users - 1 });
    let spare = 0;
    for (const [id, { mirror: each, users }] of [...this.#mirrors].reverse()) {
      if (users > 0) continue;
      spare += each.uids.length;
      if (spare > SPARE_ROWS_MAX) this.#mirrors.delete(id);
    }
  }

  /** Drops rows that cannot be trusted any more: the next connection reads them all. */
  drop(mirror: FolderMirror): void {
    if (this.#mirrors.get(mirror.folderId)?.mirror === mirror) this.#mirrors.delete(mirror.folderId);
  }

  /** Calls the listener after each change of a selected folder. @returns a function that ends that. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#socket?.close();
    this.#socket = null;
  }

  /** Starts to follow changes. A socket that ended is opened again, from the state that was reached. */
  #connect(): void {
    if (this.#socket || this.#isClosed) return;
    clearTimeout(this.#timer);
    const socket = this.client.openEvents(this.#pushedState, {
      onMessage: (text) => this.#socket === socket && this.#receive(text),
      onClose: () => this.#socket === socket && this.#reconnect(),
    });
    this.#socket = socket;
    this.#schedulePing();
  }

  #receive(text: string): void {
    this.#schedulePing();
    if (text === 'pong') return;
    this.#attempts = 0;
    const { state } = JSON.parse(text) as { state?: string };
    if (typeof state === 'string') this.#pushedState = state;
    this.forgetOverview();
    void this.#syncSelected();
  }

  async #syncSelected(): Promise<void> {
    const selected = [...this.#mirrors.values()].filter(({ users }) => users > 0);
    await Promise.all(selected.map(({ mirror }) => mirror.sync().catch((error: unknown) => this.#note(error))));
    for (const listener of this.#listeners) listener();
  }

  #note(error: unknown): void {
    if (error instanceof RequestError && error.status === 401) this.#hasEnded = true;
  }

  #schedulePing(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#socket?.send('ping');
      this.#timer = setTimeout(() => this.#socket?.close(), PONG_MS);
    }, PING_MS);
  }

  #reconnect(): void {
    this.#socket = null;
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    const pauseMs = RECONNECT_MS[Math.min(this.#attempts++, RECONNECT_MS.length - 1)];
    this.#timer = setTimeout(() => {
      // Reads the folders once by request: the socket alone does not say whether the token was revoked.
      void this.#syncSelected().then(() => !this.#hasEnded && this.#connect());
    }, pauseMs);
  }
}

export const isInbox = (name: string): boolean => name.toUpperCase() === 'INBOX';

/** Opens accounts, and shares one between the connections of a token. */
export class Accounts {
  readonly #options: ServerOptions;
  readonly #open = new Map<string, { account: Account; users: number }>();

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  /** Checks a token. @returns the account and a client for the peer's address. @throws RequestError */
  async open(token: string, address: string): Promise<{ account: Account; client: Client }> {
    const client = new Client(this.#options, token, address);
    const overview = await client.readOverview();
    const entry = this.#open.get(token);
    if (entry && !entry.account.hasEnded) {
      this.#open.set(token, { ...entry, users: entry.users + 1 });
      return { account: entry.account, client };
    }
    const account = new Account(client, overview);
    this.#open.set(token, { account, users: 1 });
    return { account, client };
  }

  /** Number of connections of a token. */
  count(token: string): number {
    return this.#open.get(token)?.users ?? 0;
  }

  release(account: Account): void {
    const { token } = account.client;
    const entry = this.#open.get(token);
    if (entry?.account !== account) return;
    if (entry.users > 1) {
      this.#open.set(token, { account, users: entry.users - 1 });
      return;
    }
    this.#open.delete(token);
    account.close();
  }
}
