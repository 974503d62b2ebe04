/**
 * Scores mail with `bogofilter`, for comparison with the spam check: the same messages in the same folds, without the header fields
 * that reveal the label.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CorpusMessage } from './corpus.ts';

export const hasBogofilter = (): boolean => spawnSync('bogofilter', ['-V']).status === 0;

export function judgeByBogofilter(
  corpus: readonly CorpusMessage[],
  foldOf: ReadonlyMap<CorpusMessage, number>,
): { isSpam: boolean; score: number }[] {
  const root = mkdtempSync(join(tmpdir(), 'bogofilter-'));
  try {
    const files = new Map(corpus.map((message, index) => [message, join(root, `${index}.eml`)]));
    for (const [message, file] of files) writeFileSync(file, removeTraceHeaders(message.raw));
    return [...new Set(foldOf.values())].flatMap((fold) => {
      const words = join(root, `words-${fold}`);
      mkdirSync(words);
      const learn = (flag: string, isSpam: boolean) => {
        const known = corpus.filter((one) => foldOf.get(one) !== fold && one.isSpam === isSpam);
        execFileSync('bogofilter', ['-d', words, flag, '-b'], {
          input: known.map((one) => files.get(one)).join('\n'),
        });
      };
      learn('-s', true);
      learn('-n', false);
      const judged = corpus.filter((one) => foldOf.get(one) === fold);
      const input = judged.map((one) => files.get(one)).join('\n');
      const { stdout } = spawnSync('bogofilter', ['-d', words, '-T', '-T', '-b'], { input, maxBuffer: 1e8 });
      const lines = stdout.toString().trim().split('\n');
      if (lines.length !== judged.length)
        throw new Error(`bogofilter scored ${lines.length} of ${judged.length} messages`);
      return judged.map((one, at) => ({ isSpam: one.isSpam, score: Number(lines[at]?.trim().split(/\s+/).at(-1)) }));
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function removeTraceHeaders(raw: Uint8Array): Buffer {
  const text = Buffer.from(raw).toString('latin1');
  const end = text.search(/\r?\n\r?\n/);
  const head = text.slice(0, end).replace(/^From .*\r?\n/, '');
  const fields = head.split(/\r?\n(?![ \t])/);
  const kept = fields.filter((field: string) =>
    /^(?:from|subject|reply-to|content-[\w-]+|mime-version|x-mailer):/i.test(field),
  );
  return Buffer.from(kept.join('\n') + text.slice(end), 'latin1');
}
