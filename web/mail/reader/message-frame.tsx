/** A message's HTML, fitted to the width of the reader. Remote images are loaded only on request. */
import { useEffect, useRef, useState } from 'react';
import { call } from '../../shared/api.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { handleKey } from '../actions/keys.ts';
import { startWriting } from '../compose/compose-state.ts';
import { type Attachment, attachmentPath } from '../model/api.ts';
import { FRAME_SANDBOX, type FrameFacts, fillFrame } from '../model/html-frame.ts';
import { toContentId } from '../model/message-html.ts';
import { QuoteToggle } from './plain-text.tsx';

const t = mailTexts.reader;

async function loadPicture(messageId: string, attachments: Attachment[], wanted: string): Promise<Blob | null> {
  const attachment = attachments.find((one) => one.content_id !== null && toContentId(one.content_id) === wanted);
  if (!attachment?.content_type.startsWith('image/')) return null;
  return await (await call(attachmentPath(messageId, attachment.file_name))).blob();
}

/** Decodes percent-encoding. Returns text with invalid encoding unchanged. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function onClickInside(event: MouseEvent): void {
  const link = (event.target as Element | null)?.closest?.('a');
  if (!link?.href.startsWith('mailto:')) return;
  event.preventDefault();
  const address = new URL(link.href);
  startWriting({ to: decode(address.pathname), subject: address.searchParams.get('subject') ?? '' });
}

interface Props {
  messageId: string;
  html: string;
  attachments: Attachment[];
}

export function MessageFrame({ messageId, html, attachments }: Props) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [withImages, setWithImages] = useState(false);
  const [isFullSize, setFullSize] = useState(false);
  const [isQuoteOpen, setQuoteOpen] = useState(false);
  const [facts, setFacts] = useState<FrameFacts>({ hasRemoteImages: false, isScaled: false, hasQuote: false });
  // Each read of the conversation makes new attachment objects for the same files. The ref keeps the message from being drawn
  // again.
  const files = useRef(attachments);
  files.current = attachments;
  useEffect(() => {
    if (!frame.current) return;
    return fillFrame(frame.current, html, {
      withRemoteImages: withImages,
      isFullSize,
      isQuoteFolded: !isQuoteOpen,
      loadPicture: (contentId) => loadPicture(messageId, files.current, contentId),
      onFilled: setFacts,
      onKeyDown: handleKey,
      onClick: onClickInside,
    });
  }, [html, messageId, withImages, isFullSize, isQuoteOpen]);
  return (
    <>
      {facts.hasRemoteImages && !withImages && (
        <p className="images-note small">
          {t.imagesBlocked}{' '}
          <button type="button" className="link" onClick={() => setWithImages(true)}>
            {t.showImages}
          </button>
        </p>
      )}
      {facts.isScaled && (
        <p className="small fit-note">
          <button type="button" className="link" aria-pressed={isFullSize} onClick={() => setFullSize(!isFullSize)}>
            {isFullSize ? t.fit : t.fullSize}
          </button>
        </p>
      )}
      <iframe
        key={withImages ? 'images' : 'plain'}
        ref={frame}
        className="message-frame"
        title={t.message}
        sandbox={FRAME_SANDBOX}
        referrerPolicy="no-referrer"
        src={withImages ? '/_/mail-frame?images=1' : '/_/mail-frame'}
      />
      {facts.hasQuote && <QuoteToggle isOpen={isQuoteOpen} onToggle={() => setQuoteOpen(!isQuoteOpen)} />}
    </>
  );
}
