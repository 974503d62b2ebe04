/** Tells the user that a draft has two versions, and shows both in a dialog on request. */
import { useState } from 'react';
import { Dialog } from '../../shared/dialog.tsx';
import { formatRelative } from '../../shared/format.ts';
import type { DraftAnswer } from '../model/api.ts';
import { chooseBoth, chooseMine, chooseTheirs } from './draft-choice.ts';
import { compareLines, type Line } from './text-difference.ts';
import { fromDraft, type Writing } from './writing.ts';

/** The text to compare: recipients, subject, body and names of attachments. */
const toText = (writing: Omit<Writing, 'key'>): string =>
  [
    ...(
      [
        ['To', writing.to],
        ['Cc', writing.cc],
        ['Bcc', writing.bcc],
        ['Subject', writing.subject],
        ['Files', writing.attachments.map((upload) => upload.fileName).join(', ')],
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
    <Dialog title="Two texts of one message" onClose={onClose}>
      <p className="muted small">Lines that only one of them has are marked. Nothing is lost before you choose.</p>
      <div className="two-versions">
        <Version title="Yours, in this tab" lines={compared.mine} />
        <Version title={`The other, saved ${formatRelative(theirs.updated_at)}`} lines={compared.theirs} />
      </div>
      <div className="row wrap dialog-foot">
        <button type="button" className="primary" onClick={choose(chooseBoth)}>
          Keep both
        </button>
        <button type="button" onClick={choose(chooseMine)}>
          Keep mine
        </button>
        <button type="button" onClick={choose(chooseTheirs)}>
          Take the other
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
        This message was changed in another tab or on another device. Both texts are kept; what you type is kept in this
        browser.{' '}
        <button type="button" className="link" onClick={() => setOpen(true)}>
          See both and choose
        </button>
      </p>
      {isOpen && <Choice writing={writing} theirs={theirs} onClose={() => setOpen(false)} />}
    </>
  );
}
