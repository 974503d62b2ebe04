/** A message as it was received: header lines and encoded parts. */
import { useEffect, useState } from 'react';
import { call, describeError } from '../../shared/api.ts';
import { Dialog } from '../../shared/dialog.tsx';
import { formatBytes } from '../../shared/format.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { rawPath } from '../model/api.ts';

const { reader: t } = mailTexts;
/** Longest source text that is shown, because more would block the page. The download has everything. */
const SHOWN_CHARS_MAX = 200_000;

export function Original({ messageId, onClose }: { messageId: string; onClose: () => void }) {
  const [raw, setRaw] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    call(rawPath(messageId), { signal: stop.signal })
      .then((response) => response.text())
      .then(setRaw, (cause: unknown) => stop.signal.aborted || setError(describeError(cause)));
    return () => stop.abort();
  }, [messageId]);
  const copy = () =>
    navigator.clipboard.writeText(raw ?? '').then(
      () => showToast(t.copied),
      (cause: unknown) => showError(cause),
    );
  return (
    <Dialog title={t.originalTitle} onClose={onClose}>
      <div className="stack original">
        {error && <p className="error-box">{error}</p>}
        {raw !== null && (
          <>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll it */}
            <pre tabIndex={0}>{raw.slice(0, SHOWN_CHARS_MAX)}</pre>
            {raw.length > SHOWN_CHARS_MAX && (
              <p className="muted small">{fill(t.cut, { size: formatBytes(SHOWN_CHARS_MAX) })}</p>
            )}
          </>
        )}
        <div className="row wrap">
          <button type="button" onClick={() => void copy()} disabled={raw === null}>
            {t.copy}
          </button>
          <a className="button" href={rawPath(messageId)} download={`${messageId}.eml`}>
            {t.download}
          </a>
        </div>
      </div>
    </Dialog>
  );
}
