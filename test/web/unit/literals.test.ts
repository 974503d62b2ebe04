import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { boardTexts } from '../../../web/shared/texts/board.ts';
import { docsTexts } from '../../../web/shared/texts/docs.ts';
import { texts } from '../../../web/shared/texts/index.ts';
import { mailTexts } from '../../../web/shared/texts/mail.ts';
import { operatorTexts } from '../../../web/shared/texts/operator.ts';
import { storageTexts } from '../../../web/shared/texts/storage.ts';
import { welcomeTexts } from '../../../web/shared/texts/welcome.ts';
import { findEarlyReads } from './early-reads.ts';
import { findLiterals } from './literals.ts';

/** Files that may have literal texts: the English texts, and programs that run in Node. */
const OTHER = /^web\/(shared\/texts\/|build\.ts|page-sizes\.ts|size\.ts|preact-alias\.ts)/;
const FILES = globSync('web/**/*.{ts,tsx}').filter((file) => !OTHER.test(file));

const textsIn = (source: string): string[] => findLiterals('example.tsx', source).map(({ text }) => text);

describe('texts for users', () => {
  it('are in the catalogue and not in the code of pages', () => {
    expect(FILES.length).toBeGreaterThan(200);
    const found = FILES.flatMap((file) =>
      findLiterals(file, readFileSync(file, 'utf8')).map(({ line, text }) => `${file}:${line} ${text}`),
    );
    expect(found, 'Move these texts to web/shared/texts/').toEqual([]);
  });

  it('are found in every place that shows them', () => {
    expect(textsIn('<p>Hello {name}</p>')).toEqual(['Hello']);
    expect(textsIn('<>Hello</>')).toEqual(['Hello']);
    expect(textsIn("<p>{isNew ? 'new' : old}</p>")).toEqual(['new']);
    expect(textsIn("<p>{isNew && 'new'}</p>")).toEqual(['new']);
    expect(textsIn(`<p>{\`\${count} files\`}</p>`)).toEqual(['files']);
    expect(textsIn(`<input aria-label="Name" title={\`of \${x}\`} placeholder={"name"} />`)).toEqual([
      'Name',
      'of',
      'name',
    ]);
    expect(textsIn("const column = { label: 'size' };")).toEqual(['size']);
    expect(textsIn(`showToast(ok ? 'saved' : \`not \${what}\`)`)).toEqual(['saved', 'not']);
    expect(textsIn("fill(t.x, { what: 'none' })")).toEqual(['none']);
    expect(textsIn("const rows = [['Most recent', 1], ['Saved.', 2]];")).toEqual(['Most recent', 'Saved.']);
    expect(textsIn("throw new Error('The box is full.')")).toEqual(['The box is full.']);
  });

  it('are not confused with code, addresses, names and signs', () => {
    expect(textsIn("import a from 'Some module'; type A = 'One two';")).toEqual([]);
    expect(textsIn('<code>git pull</code>')).toEqual([]);
    expect(textsIn('<p className="row wrap" data-id="x y">· {a} – {b}</p>')).toEqual([]);
    expect(textsIn('<input placeholder="me@elsewhere.example" pattern="[a-z]+" name="user" />')).toEqual([]);
    expect(textsIn(`fill(t.x, { name: \`OBJECTS_\${n}\` })`)).toEqual([]);
    expect(textsIn("call('/v1/users', { method: 'POST' })")).toEqual([]);
    expect(textsIn('<h4>curl</h4>')).toEqual([]);
  });
});

describe('texts', () => {
  const catalogues = {
    texts,
    boardTexts,
    docsTexts,
    mailTexts,

    operatorTexts,
    storageTexts,
    welcomeTexts,
  };

  // The texts of the compose window and of the mail settings are not checked, because their modules are loaded after the language.
  it('are not read before the language is loaded', () => {
    expect(FILES.flatMap((file) => findEarlyReads(file, readFileSync(file, 'utf8'), catalogues))).toEqual([]);
  });

  it('read too early are found', () => {
    const early = (code: string) =>
      findEarlyReads('example.ts', code, { texts: { app: { save: 'Save', pages: { mail: 'Mail' } } } });
    expect(early('const t = texts.app;\nconst names = [t.save];')).toEqual(['example.ts:2']);
    expect(early('const { pages } = texts.app;\nconst names = { a: pages.mail };')).toEqual(['example.ts:2']);
    expect(early('const { save } = texts.app;')).toEqual(['example.ts:1']);
    expect(early('const all = Object.entries(texts.app);')).toEqual(['example.ts:1']);
    expect(early('const t = texts.app;\nconst names = () => [t.save];')).toEqual([]);
  });
});
