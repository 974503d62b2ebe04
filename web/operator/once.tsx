/** Shows a secret, which cannot be shown again, with a button to copy it. */
import { operatorTexts } from '../shared/texts/operator.ts';
import { showToast } from '../shared/toasts.tsx';

const t = operatorTexts.accounts;

export function Once({ about, text }: { about: string; text: string }) {
  return (
    <div className="card stack small" role="status">
      <p>{about}</p>
      <div className="row wrap">
        <code className="record-value grow">{text}</code>
        <button
          type="button"
          className="small"
          onClick={() =>
            void navigator.clipboard.writeText(text).then(
              () => showToast(t.copied),
              // If copying fails, the text can still be selected.
              () => undefined,
            )
          }
        >
          {t.copy}
        </button>
      </div>
    </div>
  );
}
