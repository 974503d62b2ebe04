/** Helpers of the tests of CardDAV: a person with an app token, requests of any method, and vdirsyncer. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestServer } from '../server.ts';
import { confirmSession, type MailUser, registerUser } from './mail.ts';

export interface CardUser extends MailUser {
  readonly tokenId: string;
  /** Token of an app, for Basic authentication. */
  readonly appToken: string;
  /** Path of the book. */
  readonly book: string;
}

export async function registerCardUser(server: TestServer, name: string): Promise<CardUser> {
  const user = await registerUser(server, name);
  await confirmSession(server, user.token);
  const { body } = await server.call('POST', '/v1/me/tokens', { name: 'phone' }, user.token);
  return { ...user, appToken: body.token, tokenId: body.token_id, book: `/v1/carddav/${user.userId}/books/contacts/` };
}

export interface DavRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export async function callDav(server: TestServer, user: CardUser | null, request: DavRequest) {
  const { method, path, body, headers = {} } = request;
  const basic = user && `Basic ${Buffer.from(`${user.email}:${user.appToken}`).toString('base64')}`;
  const response = await fetch(`${server.url}${path}`, {
    method,
    redirect: 'manual',
    headers: { 'content-type': 'text/vcard', ...(basic === null ? {} : { authorization: basic }), ...headers },
    ...(body === undefined ? {} : { body }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const run = promisify(execFile);

/** A folder of cards that vdirsyncer keeps the same as the book. */
export class SyncedFolder {
  readonly folder: string;
  readonly #config: string;

  constructor(server: TestServer, user: CardUser) {
    const home = mkdtempSync(join(tmpdir(), 'tessera-vdirsyncer-'));
    this.folder = join(home, 'cards');
    this.#config = join(home, 'config');
    mkdirSync(this.folder);
    const [storage, pair] = ['[storage', '[pair contacts]'];
    writeFileSync(
      this.#config,
      `[general]\nstatus_path = "${join(home, 'status')}"\n
${pair}\na = "here"\nb = "there"\ncollections = [["contacts", "contacts", "contacts"]]\nconflict_resolution = "b wins"\n
${storage} here]\ntype = "filesystem"\npath = "${this.folder}"\nfileext = ".vcf"\n
${storage} there]\ntype = "carddav"\nurl = "${server.url}/"\nusername = "${user.email}"\npassword = "${user.appToken}"\n`,
    );
  }

  /** @returns the output of vdirsyncer. @throws if it fails. */
  async sync(): Promise<string> {
    let output = '';
    for (const command of ['discover', 'sync']) {
      const child = run('vdirsyncer', ['-c', this.#config, command], { timeout: 60_000 });
      child.child.stdin?.end('y\ny\n');
      const { stdout, stderr } = await child;
      output += stdout + stderr;
    }
    return output;
  }

  read(): Record<string, string> {
    const folder = join(this.folder, 'contacts');
    return Object.fromEntries(
      readdirSync(folder)
        .filter((name) => name.endsWith('.vcf'))
        .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
    );
  }

  write(name: string, vcard: string): void {
    writeFileSync(join(this.folder, 'contacts', name), vcard);
  }
}
