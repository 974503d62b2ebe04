/** Tells the user that a draft has two versions, and shows both in a dialog on request. */
import { useState } from 'react';
import { Dialog } from '../../shared/dialog.tsx';
import { formatRelative } from '../../shared/format.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';
import type { DraftAnswer } from '../model/api.ts';
import { chooseBoth, chooseMine, chooseTheirs } from './draft-choice.ts';
import { compareLines, type Line } from './text-difference.ts';
import { fromDraft, type Writing } from './writing.ts';

const t = mailComposeTexts.window;

/** Makes the text of a version for the comparison: recipients, subject, body and names of attachments. */
const toText = (writing: Omit<Writing, 'key'>): string =>
  [
    ...(
      [
        [t.to, writing.to],
        [t.cc, writing.cc],
        [t.bcc, writing.bcc],
        [t.subject, writing.subject],
        [t.attachments, writing.attachments.map((upload) => upload.fileName).join(', ')],
      ] as const
    ).flatMap(([name, text]) => {
      const value = text.trim().replace(/,$/, '');
      return value ? `${name}: ${value}` : [];
    }),
    '',
    writing.body,
  ].join('\n');

function Version({ title, lines }: { title: string; lines: Line[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach a region that scrolls
    <section className="version-text" aria-label={title} tabIndex={0}>
      <h3>{title}</h3>
      {lines.map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line has no id except its position
        <p key={at}>{line.isOnlyHere ? <mark>{line.text || ' '}</mark> : line.text || ' '}</p>
      ))}
    </section>
  );
}

function Choice({ writing, theirs, onClose }: { writing: Writing; theirs: DraftAnswer; onClose: () => void }) {
  const compared = compareLines(toText(writing), toText(fromDraft(theirs)));
  const choose = (run: () => unknown) => () => {
    onClose();
    void run();
  };
  return (
    <Dialog title={t.twoTextsOneMessage} onClose={onClose}>
      <p className="muted small">{t.choiceText}</p>
      <div className="two-versions">
        <Version title={t.yoursInThisTab} lines={compared.mine} />
        <Version title={fill(t.otherSaved, { updatedAt: formatRelative(theirs.updated_at) })} lines={compared.theirs} />
      </div>
      <div className="row wrap dialog-foot">
        <button type="button" className="primary" onClick={choose(chooseBoth)}>
          {t.keepBoth}
        </button>
        <button type="button" onClick={choose(chooseMine)}>
          {t.keepMine}
        </button>
        <button type="button" onClick={choose(chooseTheirs)}>
          {t.takeOther}
        </button>
      </div>
    </Dialog>
  );
}

export function DraftChoice({ writing, theirs }: { writing: Writing; theirs: DraftAnswer }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <p className="draft-changed small" role="alert">
        {t.choiceNeeded}{' '}
        <button type="button" className="link" onClick={() => setOpen(true)}>
          {t.seeBothAndChoose}
        </button>
      </p>
      {isOpen && <Choice writing={writing} theirs={theirs} onClose={() => setOpen(false)} />}
    </>
  );
}
