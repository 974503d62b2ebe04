/** Reads a corpus of raw messages from a gzipped tar. `train:spam` learns from it, and `judge:spam` evaluates with it. */
import { gunzipSync } from 'node:zlib';
import { noChain } from '../../workers/mail/checks/authentication/arc.ts';
import type { SpamSample } from '../../workers/mail/checks/spam/classifier.ts';
import { type MessageText, readMessageText } from '../../workers/mail/checks/spam/message-text.ts';
import { toTokens } from '../../workers/mail/checks/spam/tokens.ts';
import type { Authentication } from '../../workers/mail/checks/verdicts.ts';

export interface CorpusMessage extends SpamSample {
  readonly name: string;
  readonly raw: Uint8Array;
  readonly text: MessageText;
}

/** Authentication result of every message, as if it had been checked without DNS. The DNS records of the corpus no longer exist. */
export const unauthenticated: Authentication = {
  spf: { result: 'none', domain: '', identity: 'mailfrom', reason: '' },
  dkim: [],
  dmarc: { result: 'none', domain: '', policy: null, disposition: 'none', reason: '' },
  arc: noChain('none', ''),
};

/** Reads the corpus. @param archive a gzipped tar with `ham/…` and `spam/…` files. @returns the messages, sorted by name. */
export function readCorpus(archive: Uint8Array): CorpusMessage[] {
  return readTar(gunzipSync(archive))
    .map(({ name, bytes }) => ({ name: name.replace(/^\.\//, ''), raw: bytes }))
    .filter(({ name }) => /^(?:ham|spam)\/[^/]+$/.test(name))
    .sort((left, right) => (left.name < right.name ? -1 : 1))
    .map(({ name, raw }) => {
      const text = readMessageText(raw);
      return { name, raw, text, tokens: toTokens(text), isSpam: name.startsWith('spam/') };
    });
}

function readTar(tar: Uint8Array): { name: string; bytes: Uint8Array }[] {
  const files: { name: string; bytes: Uint8Array }[] = [];
  const text = (at: number, length: number) =>
    Buffer.from(tar.subarray(at, at + length))
      .toString('latin1')
      .replace(/\0.*$/s, '');
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12), 8) || 0;
    const kind = text(at + 156, 1);
    if (kind === '0' || kind === '')
      files.push({ name: text(at, 100), bytes: tar.subarray(at + 512, at + 512 + size) });
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}
