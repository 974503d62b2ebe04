/** One account in memory that answers the routes the bridge uses, for tests of sessions without a server. It parses no MIME. */
import type { FolderChanges, MessageRow, Overview, Part, Role } from '../../../bridge/session/account-api.ts';
import type { EventHandlers, Network } from '../../../bridge/session/client.ts';

export const TOKEN = 'tok_memory_0123456789';
export const ADDRESS = 'ann@example.test';

interface Stored {
  readonly id: string;
  readonly raw: string;
  readonly receivedAtMs: number;
  keywords: string[];
  modseq: number;
}
interface Place {
  readonly folderId: string;
  readonly messageId: string;
  readonly uid: number;
}

export class MemoryAccount {
  readonly requests: string[] = [];
  readonly sent: { from: string | null; to: string[]; raw: string }[] = [];
  /** Answers with this status instead, while it is set. */
  failure: number | null = null;
  readonly #messages = new Map<string, Stored>();
  readonly #sockets = new Set<EventHandlers>();
  #folders: { id: string; name: string; role: Role | null; isSubscribed: boolean }[] = [
    { id: 'inbox', name: 'Inbox', role: 'inbox', isSubscribed: true },
    { id: 'sent', name: 'Sent', role: 'sent', isSubscribed: true },
    { id: 'trash', name: 'Trash', role: 'trash', isSubscribed: true },
  ];
  #places: Place[] = [];
  #gone: { folderId: string; messageId: string; state: number }[] = [];
  #state = 1;

  get network(): Network {
    return {
      fetch: (url, init) => this.#answer(new Request(url, init)),
      openEvents: (_url, _headers, handlers) => {
        this.#sockets.add(handlers);
        return { send: () => handlers.onMessage('pong'), close: () => this.#drop(handlers) };
      },
    };
  }

  get sockets(): number {
    return this.#sockets.size;
  }

  /** Stores a message as if it had arrived. @returns its id. */
  add(raw: string, folderId = 'inbox', keywords: string[] = []): string {
    const id = `m${this.#messages.size + 1}`;
    const modseq = ++this.#state;
    this.#messages.set(id, { id, raw, receivedAtMs: Date.UTC(2026, 0, 2, 3, 4, 5), keywords, modseq });
    this.#places.push({ folderId, messageId: id, uid: modseq });
    this.#push();
    return id;
  }

  /** Changes the keywords of a message as the web app would. */
  mark(id: string, keywords: string[]): void {
    const message = this.#messages.get(id);
    if (!message) return;
    message.keywords = keywords;
    message.modseq = ++this.#state;
    this.#push();
  }

  remove(id: string, folderId = 'inbox'): number {
    const place = this.#places.find((each) => each.messageId === id && each.folderId === folderId);
    this.#places = this.#places.filter((each) => each !== place);
    this.#gone.push({ folderId, messageId: id, state: ++this.#state });
    this.#push();
    return place?.uid ?? 0;
  }

  /** Ends all sockets, as a deployment does. */
  dropSockets(): void {
    for (const handlers of [...this.#sockets]) this.#drop(handlers);
  }

  #drop(handlers: EventHandlers): void {
    if (this.#sockets.delete(handlers)) queueMicrotask(() => handlers.onClose());
  }

  #push(): void {
    const text = JSON.stringify({ state: String(this.#state), changes: [] });
    for (const handlers of this.#sockets) queueMicrotask(() => handlers.onMessage(text));
  }

  async #answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    this.requests.push(`${request.method} ${url.pathname}`);
    const problem = (status: number, code: string) => Response.json({ code, detail: `Problem ${code}` }, { status });
    if (this.failure !== null) return problem(this.failure, 'failure');
    if (request.headers.get('authorization') !== `Bearer ${TOKEN}`) return problem(401, 'invalid_token');
    const [, , area, one = '', two = '', three = ''] = url.pathname.split('/');
    if (area === 'messages') return this.#raw(one, request.headers.get('range')) ?? problem(404, 'not_found');
    if (area === 'folders') return this.#changeFolder(request, one);
    if (one === '') return Response.json(this.#overview());
    if (one === 'folders' && !this.#folders.some(({ id }) => id === two)) return problem(404, 'not_found');
    if (one === 'folders')
      return Response.json(
        three === 'messages' ? this.#list(two) : this.#changes(two, Number(url.searchParams.get('since'))),
      );
    if (one === 'append' || one === 'submissions')
      return Response.json(await this.#take(one, url.searchParams, request));
    // biome-ignore lint/suspicious/noExplicitAny: the bridge made the request
    return Response.json(this.#post(one, (await request.json()) as any));
  }

  #overview(): Overview {
    const rows = (id: string) => this.#list(id).messages;
    return {
      user_id: 'u1',
      address: ADDRESS,
      addresses: [ADDRESS],
      message_bytes_max: 1_000_000,
      uid_validity: 7,
      state: String(this.#state),
      folders: this.#folders.map(({ id, name, role, isSubscribed }) => ({
        folder_id: id,
        name,
        role,
        total: rows(id).length,
        unread: rows(id).filter(([, , keywords]) => !keywords.includes('$seen')).length,
        uid_next: this.#state + 1,
        is_subscribed: isSubscribed,
      })),
    };
  }

  #rowsOf(folderId: string): MessageRow[] {
    return this.#places
      .filter((place) => place.folderId === folderId)
      .map(({ uid, messageId }): MessageRow => {
        const { raw, keywords, receivedAtMs, modseq } = this.#messages.get(messageId) as Stored;
        return [uid, messageId, [...keywords], raw.length, receivedAtMs, modseq];
      })
      .sort(([a], [b]) => a - b);
  }

  #list(folderId: string) {
    const messages = this.#rowsOf(folderId);
    return { uid_validity: 7, uid_next: this.#state + 1, state: String(this.#state), messages, next_after_uid: null };
  }

  #changes(folderId: string, since: number): FolderChanges {
    const { messages, next_after_uid: _, ...rest } = this.#list(folderId);
    const gone = this.#gone.filter((each) => each.folderId === folderId && each.state > since);
    return {
      ...rest,
      resync: false,
      messages: messages.filter(([uid, , , , , modseq]) => Number(modseq) > since || uid > since),
      gone: gone.map(({ messageId }) => messageId),
    };
  }

  #raw(id: string, range: string | null): Response | null {
    const message = this.#messages.get(id);
    if (!message) return null;
    const bytes = Buffer.from(message.raw, 'latin1');
    const [from, to] = range?.match(/\d+/g)?.map(Number) ?? [0, bytes.length - 1];
    const part = bytes.subarray(from, (to ?? 0) + 1);
    return new Response(part, { status: range ? 206 : 200, headers: { 'content-length': String(part.length) } });
  }

  async #changeFolder(request: Request, id: string): Promise<Response> {
    const body =
      request.method === 'DELETE' ? {} : ((await request.json()) as { name?: string; is_subscribed?: boolean });
    this.#state++;
    if (request.method === 'POST') {
      if (this.#folders.some(({ name }) => name === body.name))
        return Response.json({ code: 'folder_exists', detail: 'Exists' }, { status: 409 });
      this.#folders.push({ id: `f${this.#state}`, name: body.name ?? '', role: null, isSubscribed: false });
    }
    if (request.method === 'PATCH')
      this.#folders = this.#folders.map((folder) =>
        folder.id === id
          ? { ...folder, name: body.name ?? folder.name, isSubscribed: body.is_subscribed ?? folder.isSubscribed }
          : folder,
      );
    if (request.method === 'DELETE') this.#folders = this.#folders.filter((folder) => folder.id !== id);
    return Response.json({});
  }

  async #take(kind: string, query: URLSearchParams, request: Request): Promise<unknown> {
    const raw = Buffer.from(await request.arrayBuffer()).toString('latin1');
    if (kind === 'submissions') this.sent.push({ from: query.get('from'), to: query.getAll('to'), raw });
    const folderId = kind === 'append' ? (query.get('folder_id') ?? '') : 'sent';
    const id = this.add(raw, folderId, query.get('keywords')?.split(',') ?? []);
    return { uid_validity: 7, uid: this.#state, message_id: id, submission_id: `s${id}`, state: String(this.#state) };
  }

  // biome-ignore lint/suspicious/noExplicitAny: the bridge made the request
  #post(kind: string, body: any): unknown {
    const ids: string[] = body.message_ids ?? [];
    if (kind === 'fetch') {
      const messages = ids
        .flatMap((id) => this.#messages.get(id) ?? [])
        .map(({ id, raw }) => {
          const structure = toStructure(raw);
          return {
            message_id: id,
            header: Buffer.from(raw.slice(0, structure.body), 'latin1').toString('base64'),
            structure,
          };
        });
      return { messages, missing: [] };
    }
    if (kind === 'flags') {
      for (const id of ids) {
        const { keywords = [] } = this.#messages.get(id) ?? {};
        this.mark(id, [...new Set([...keywords.filter((each) => !body.remove.includes(each)), ...body.add])]);
      }
      return {
        state: String(this.#state),
        messages: this.#rowsOf(body.folder_id).filter(([, id]) => ids.includes(id)),
        modified: [],
      };
    }
    if (kind === 'copy') {
      const copied = ids.map((id) => {
        const from =
          this.#places.find((place) => place.messageId === id && place.folderId === body.from_folder_id)?.uid ?? 0;
        if (body.move) this.remove(id, body.from_folder_id);
        const uid = ++this.#state;
        this.#places.push({ folderId: body.to_folder_id, messageId: id, uid });
        return [id, from, uid];
      });
      this.#push();
      return { uid_validity: 7, state: String(this.#state), copied };
    }
    if (kind === 'expunge') {
      const marked = this.#rowsOf(body.folder_id).filter(
        ([, id, keywords]) => keywords.includes('$deleted') && (body.message_ids === null || ids.includes(id)),
      );
      return { gone: marked.map(([, id]) => [id, this.remove(id, body.folder_id)]), state: String(this.#state) };
    }
    const [wanted = ''] = Object.values(body.filter as Record<string, string>);
    const found = this.#rowsOf(body.folder_id).filter(([, id]) => this.#messages.get(id)?.raw.includes(wanted));
    return { message_ids: found.map(([, id]) => id), state: String(this.#state) };
  }
}

/** A tree of one text part, or of the parts between the lines `--b`. */
function toStructure(raw: string): Part {
  const body = raw.indexOf('\r\n\r\n') + 4;
  const text = { type: 'text', subtype: 'plain', parameters: { charset: 'utf-8' }, encoding: '7bit' };
  const one = (start: number, bodyAt: number, end: number): Part => ({
    ...text,
    start,
    body: bodyAt,
    end,
    octets: end - bodyAt,
    lines: 1,
  });
  if (!raw.includes('boundary=b')) return one(0, body, raw.length);
  const parts = [...raw.matchAll(/--b\r\n([\s\S]*?)\r\n(?=--b)/g)].map((match) => {
    const start = match.index + 5;
    return one(start, raw.indexOf('\r\n\r\n', start) + 4, match.index + match[0].length - 2);
  });
  return {
    type: 'multipart',
    subtype: 'mixed',
    parameters: { boundary: 'b' },
    encoding: '7bit',
    octets: raw.length - body,
    start: 0,
    body,
    end: raw.length,
    parts,
  };
}
