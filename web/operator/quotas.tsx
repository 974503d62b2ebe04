/** Storage quotas of buckets and users. */
import { type FormEvent, useState } from 'react';
import { ApiError } from '../shared/api.ts';
import { formatBytes } from '../shared/format.ts';
import { go, toHash, useRoute } from '../shared/hash-route.ts';
import { fill, plural, texts } from '../shared/texts/index.ts';
import { operatorTexts } from '../shared/texts/operator.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { request, requestJson } from './token.ts';

const t = operatorTexts.quotas;
const GB = 1_000_000_000;
export type QuotaKind = keyof typeof t.kinds;

interface Quota {
  bytes: number | null;
  objects: number | null;
  used: { bytes: number; objects: number };
}

async function readQuota(path: string): Promise<Quota | null> {
  try {
    return await requestJson<Quota>(path);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'no_such_quota') return null;
    throw error;
  }
}

export function QuotaForm({ kind, id }: { kind: QuotaKind; id: string }) {
  const path = `/v1/storage/quotas/${kind}/${encodeURIComponent(id)}`;
  const { value, error, isLoading, reload } = useLoaded(() => readQuota(path), [path]);
  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const bytes = String(form.get('bytes'));
    const objects = String(form.get('objects'));
    const body = {
      ...(bytes ? { bytes: Math.round(Number(bytes) * GB) } : {}),
      ...(objects ? { objects: Number(objects) } : {}),
    };
    request(path, { method: 'PUT', body }).then(() => {
      showToast(operatorTexts.saved);
      reload();
    }, showError);
  };
  const remove = () =>
    request(path, { method: 'DELETE' }).then(() => {
      showToast(t.removed);
      reload();
    }, showError);
  if (error) return <p className="error-box">{error}</p>;
  if (isLoading && !value) return null;
  return (
    <form
      // A changed key makes React reset the fields to the quota that was loaded.
      key={`${value?.bytes} ${value?.objects}`}
      className="stack"
      aria-label={fill(t.of, { name: id })}
      onSubmit={save}
    >
      <p className="small">
        {value
          ? fill(t.used, {
              bytes: formatBytes(value.used.bytes),
              objects: plural(operatorTexts.counts.objects, value.used.objects),
            })
          : t.none}
      </p>
      <div className="row wrap">
        <label className="field">
          <span>{t.bytes}</span>
          <input
            name="bytes"
            type="number"
            min={0}
            step="any"
            placeholder={t.noLimit}
            defaultValue={value?.bytes == null ? '' : value.bytes / GB}
          />
        </label>
        <label className="field">
          <span>{t.objects}</span>
          <input name="objects" type="number" min={0} placeholder={t.noLimit} defaultValue={value?.objects ?? ''} />
        </label>
      </div>
      <div className="row wrap">
        <button type="submit" className="primary">
          {texts.app.save}
          <span className="visually-hidden"> {fill(t.of, { name: id })}</span>
        </button>
        {value && (
          <button type="button" className="quiet" onClick={() => void remove()}>
            {t.remove}
          </button>
        )}
      </div>
    </form>
  );
}

export function Quotas() {
  const { query } = useRoute();
  const shown = query.get('bucket') ?? query.get('user');
  const kind: QuotaKind = query.has('user') ? 'users' : 'buckets';
  const [chosen, setChosen] = useState<QuotaKind>(kind);
  const show = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const id = String(new FormData(event.currentTarget).get('id')).trim();
    go(toHash(['quotas'], chosen === 'users' ? { user: id } : { bucket: id }));
  };
  return (
    <section className="stack" aria-label={t.title}>
      <h2>{t.title}</h2>
      <p className="muted small">{t.about}</p>
      <form className="row wrap end" onSubmit={show}>
        <label className="field">
          <span>{t.kind}</span>
          <select value={chosen} onChange={(event) => setChosen(event.target.value as QuotaKind)}>
            {(Object.entries(t.kinds) as [QuotaKind, string][]).map(([one, text]) => (
              <option key={one} value={one}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <label className="field grow">
          <span>{chosen === 'users' ? t.user : t.bucket}</span>
          <input key={shown} name="id" required defaultValue={shown ?? ''} spellCheck={false} />
        </label>
        <button type="submit">{t.show}</button>
      </form>
      {shown && (
        <section className="card stack" aria-label={shown}>
          <h3>{shown}</h3>
          <QuotaForm kind={kind} id={shown} />
        </section>
      )}
    </section>
  );
}
