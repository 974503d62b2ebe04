/**
 * Shows messages to an agent. Without the scope `mail:codes`, machine-made mail of the last 48 hours from an address to which the
 * account never wrote is withheld: its sender and date are shown, and nothing else. Codes and reset links in other mail are taken
 * out. This file is the only one that turns a message into text for an agent.
 */
import type { MessageDetail, TextRow } from '../../../durable-objects/mail/contract/messages.ts';
import { getBlob } from '../bindings/blobs.ts';
import { readHtml } from '../checks/spam/html-text.ts';
import { toVisibleLine, toVisibleText } from '../domain/foreign-text.ts';
import { isListMail, isMachineMade } from '../domain/machine-mail.ts';
import { maskAll, withholdSecrets } from '../domain/secret-text.ts';
import type { Agent } from './agent.ts';
import { backgroundOf, isTagHidden } from './hidden-tags.ts';

/** Time for which machine-made mail of a stranger is withheld. Codes and links are dead by then. */
const WITHHELD_MS = 48 * 3_600_000;
const SOURCE_BYTES_MAX = 1_000_000;
/** Characters of a body that an agent gets. */
const BODY_LENGTH_MAX = 60_000;
const SUBJECT_LENGTH_MAX = 500;

export interface ShownMessage {
  readonly message: MessageDetail;
  readonly isWithheld: boolean;
  /** Visible text, without what is withheld. Empty if the message is. */
  readonly subject: string;
  readonly body: string;
  readonly fileNames: readonly string[];
  /** Whether anything was taken out of a message that is shown. */
  readonly hasSecrets: boolean;
}

export class AgentReader {
  readonly #agent: Agent;
  readonly #written = new Map<string, Promise<boolean>>();

  constructor(agent: Agent) {
    this.#agent = agent;
  }

  /** @param mates messages of the same thread, whose withheld text may be quoted in it. */
  async show(message: MessageDetail, mates: readonly MessageDetail[] = []): Promise<ShownMessage> {
    if (await this.isWithheld(message))
      return { message, isWithheld: true, subject: '', body: '', fileNames: [], hasSecrets: true };
    const subject = toVisibleLine(message.subject, SUBJECT_LENGTH_MAX);
    const body = toVisibleText(await this.#readBody(message))
      .slice(0, BODY_LENGTH_MAX)
      .toWellFormed();
    const fileNames = message.attachments.map(({ fileName }) => toVisibleLine(fileName, 200));
    if (this.#agent.has('mail:codes'))
      return { message, isWithheld: false, subject, body, fileNames, hasSecrets: false };
    const quoted = await this.#readWithheld(message, mates);
    return { isWithheld: false, ...takeOut(message, { subject, body, fileNames }, quoted) };
  }

  /** Whether only sender and date of a message are shown. */
  async isWithheld({ origin, receivedAt, from, headers }: MessageDetail): Promise<boolean> {
    const { now, has } = this.#agent;
    if (has('mail:codes') || origin === 'sent' || origin === 'draft' || receivedAt <= now - WITHHELD_MS) return false;
    // A field From may name a known address and a machine, and Sender another one.
    const authors = [from?.email ?? '', ...headers.flatMap(listAuthors)];
    if (!authors.some((email) => isMachineMade(email, headers)) || isListMail(headers)) return false;
    const known = await Promise.all(authors.map((email) => this.#hasWrittenTo(email)));
    return known.includes(false);
  }

  /** Whether the account ever wrote to an address. */
  #hasWrittenTo(email: string): Promise<boolean> {
    const address = email.toLowerCase();
    if (!/^[^\s"():<>]+@[^\s"():<>]+$/.test(address)) return Promise.resolve(false);
    const known = this.#written.get(address) ?? this.#findSentTo(address);
    this.#written.set(address, known);
    return known;
  }

  async #findSentTo(address: string): Promise<boolean> {
    const query = `in:sent (to:"${address}" OR cc:"${address}")`;
    const request = { query, sort: 'newest', page: null, limit: 5 } as const;
    const { hits } = await this.#agent.ask((mailbox) => mailbox.search(request));
    return hits.some(({ message }) => message.to.some(({ email }) => email.toLowerCase() === address));
  }

  /** @returns the lines of withheld messages of the thread, so that a reply cannot quote them to the agent. */
  async #readWithheld(message: MessageDetail, mates: readonly MessageDetail[]): Promise<string[]> {
    const texts: string[] = [];
    for (const mate of mates) {
      if (mate.messageId === message.messageId || !(await this.isWithheld(mate))) continue;
      texts.push(mate.subject, toVisibleText(await this.#readBody(mate)));
    }
    return texts.flatMap((text) => text.split('\n').map((line) => line.trim())).filter((line) => line.length > 2);
  }

  async #readBody({ text, html }: MessageDetail): Promise<string> {
    if (html === null) return this.#readText(text);
    return readHtml(await this.#readText(html), { isHidden: isTagHidden, backgroundOf }).text.replace(
      /\n\s*\n\s*\n+/g,
      '\n\n',
    );
  }

  async #readText({ value, r2Key }: TextRow): Promise<string> {
    if (r2Key === null) return (value ?? '').slice(0, SOURCE_BYTES_MAX);
    const blob = await getBlob(this.#agent.env, r2Key, { offset: 0, length: SOURCE_BYTES_MAX });
    return blob ? blob.text() : '';
  }
}

const listAuthors = ({ name, value }: MessageDetail['headers'][number]): string[] =>
  /^(?:from|sender)$/i.test(name) ? (value.match(/[^\s"(),:;<>@]+@[^\s"(),:;<>@]+/g) ?? []).slice(0, 10) : [];

interface Shape {
  readonly subject: string;
  readonly body: string;
  readonly fileNames: readonly string[];
}

/** @param quoted lines that are withheld elsewhere. */
function takeOut(
  message: MessageDetail,
  { subject, body, fileNames }: Shape,
  quoted: readonly string[],
): Omit<ShownMessage, 'isWithheld'> {
  const isQuoted = (line: string) => {
    const bare = line.replace(/^[>\s|]+/, '').trim();
    return bare.length > 2 && quoted.some((each) => each === bare || bare.endsWith(each));
  };
  const lines = body.split('\n');
  const kept = lines.map((line) => (isQuoted(line) ? '[line withheld]' : line)).join('\n');
  const title = isQuoted(subject) ? '[subject withheld]' : subject;
  const found = [
    ...withholdSecrets(title).secrets,
    ...withholdSecrets(kept, title).secrets,
    ...[...fileNames, ...listNames(message)].flatMap((name) => withholdSecrets(name, title).secrets),
  ];
  const maskNames = (list: MessageDetail['to']) =>
    list.map(({ name, email }) => ({ name: maskAll(name, found), email }));
  const shown = {
    message: {
      ...message,
      from: message.from && { ...message.from, name: maskAll(message.from.name, found) },
      to: maskNames(message.to),
      cc: maskNames(message.cc),
    },
    subject: maskAll(title, found),
    body: maskAll(kept, found),
    fileNames: fileNames.map((name) => maskAll(name, found)),
  };
  return { ...shown, hasSecrets: found.length > 0 || kept !== body || title !== subject };
}

const listNames = ({ from, to, cc }: MessageDetail): string[] => [from, ...to, ...cc].flatMap((one) => one?.name ?? []);
