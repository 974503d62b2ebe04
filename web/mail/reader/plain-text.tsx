/** A plain text body: addresses become links, quoted text is folded. */
import { type ReactNode, useState } from 'react';
import { Icon } from '../../shared/icons.tsx';
import { mailTexts } from '../../shared/texts/mail.ts';

const LINK = /\bhttps?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)\]}]/g;

function linkify(text: string): ReactNode[] {
  const parts: ReactNode[] = [];
  let end = 0;
  for (const match of text.matchAll(LINK)) {
    parts.push(text.slice(end, match.index));
    parts.push(
      <a key={match.index} href={match[0]} target="_blank" rel="noopener noreferrer">
        {match[0]}
      </a>,
    );
    end = match.index + match[0].length;
  }
  parts.push(text.slice(end));
  return parts;
}

/** Splits a body into the reply and the quote at its end. The quote includes the line that introduces it. */
export function splitQuote(body: string): [string, string] {
  const lines = body.trimEnd().split('\n');
  let start = lines.length;
  while (
    start > 0 &&
    (/^\s*>/.test(lines[start - 1] ?? '') || (lines[start - 1]?.trim() === '' && start < lines.length))
  )
    start -= 1;
  if (lines.length - start < 2) return [body, ''];
  if (start > 0 && /:\s*$/.test(lines[start - 1] ?? '')) start -= 1;
  return [lines.slice(0, start).join('\n').trimEnd(), lines.slice(start).join('\n')];
}

export function QuoteToggle({ isOpen, onToggle }: { isOpen: boolean; onToggle: () => void }) {
  const { quoted } = mailTexts.reader;
  return (
    <button
      type="button"
      className="quote-toggle"
      aria-expanded={isOpen}
      aria-label={quoted}
      data-tip={quoted}
      onClick={onToggle}
    >
      <Icon name="more" size={16} />
    </button>
  );
}

export function PlainText({ body }: { body: string }) {
  const [isQuoteOpen, setQuoteOpen] = useState(false);
  const [own, quoted] = splitQuote(body);
  return (
    <div className="plain" dir="auto">
      {linkify(own)}
      {quoted && (
        <div>
          <QuoteToggle isOpen={isQuoteOpen} onToggle={() => setQuoteOpen(!isQuoteOpen)} />
          {isQuoteOpen && (
            <div className="quoted" dir="auto">
              {linkify(quoted)}
            </div>
          )}
        </div>
      )}
    </div>
  );
}
