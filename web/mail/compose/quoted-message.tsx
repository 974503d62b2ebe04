/** The quoted HTML of a reply or a forwarded message: folded in a reply, shown in a forwarded message. */
import { useEffect, useRef, useState } from 'react';
import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';
import { FRAME_SANDBOX, fillFrame } from '../model/html-frame.ts';
import { makePlain, removeQuote, unfoldQuote } from './compose-state.ts';
import { loadPicture } from './pictures.ts';
import type { Writing } from './writing.ts';

const t = mailComposeTexts.window;

export function QuotedMessage({ writing, html }: { writing: Writing; html: string }) {
  const [isOpen, setOpen] = useState(writing.inReplyTo === null);
  const frame = useRef<HTMLIFrameElement>(null);
  const current = useRef(writing);
  current.current = writing;
  // A picture is drawn once its copy has arrived.
  const pictures = writing.attachments.filter((upload) => upload.isInline && upload.attachmentId).length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another picture has arrived
  useEffect(() => {
    if (!frame.current) return;
    return fillFrame(frame.current, html, {
      withRemoteImages: false,
      isFullSize: false,
      isQuoteFolded: false,
      loadPicture: (contentId) => loadPicture(current.current, contentId),
      onFilled: () => undefined,
    });
  }, [html, isOpen, pictures]);
  return (
    <section className="compose-quote" aria-label={t.quotedMessage}>
      <div className="row">
        <button
          type="button"
          className="quote-toggle"
          aria-expanded={isOpen}
          aria-label={t.showQuotedMessage}
          onClick={() => setOpen(!isOpen)}
        >
          •••
        </button>
        <span className="grow" />
        {writing.quote?.isPlain ? (
          <button type="button" className="quiet small" onClick={unfoldQuote}>
            {t.editQuote}
          </button>
        ) : (
          <button type="button" className="quiet small" onClick={() => makePlain()}>
            {t.switchToPlainText}
          </button>
        )}
        <button type="button" className="quiet small" onClick={removeQuote}>
          {t.removeQuote}
        </button>
      </div>
      {isOpen && (
        <iframe
          ref={frame}
          className="message-frame"
          title={t.quotedMessage}
          sandbox={FRAME_SANDBOX}
          referrerPolicy="no-referrer"
          src="/_/mail-frame"
        />
      )}
    </section>
  );
}
