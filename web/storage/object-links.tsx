/** Download of an object, and links to it for other people. */
import { type FormEvent, useEffect, useState } from 'react';
import { formatCount, formatDateTime, formatUnit } from '../shared/format.ts';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { type Key, linkTo } from './s3.ts';
import { endLink, listLinksTo, type ShareLink, shareObject } from './share-api.ts';

const t = storageTexts.object;

/** How long a link may work. */
const TIMES = [
  [1, 'hour', 3_600],
  [1, 'day', 86_400],
  [7, 'day', 7 * 86_400],
  [30, 'day', 30 * 86_400],
] as const;
const USUAL_SECONDS = 7 * 86_400;

interface Props {
  accessKey: Key;
  bucket: string;
  name: string;
  versionId: string | null;
}

export function ObjectLinks({ accessKey, bucket, name, versionId }: Props) {
  const [made, setMade] = useState<{ url: string; until: string } | null>(null);
  const links = useLoaded(() => listLinksTo(accessKey, bucket, name), [bucket, name]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another object makes the shown link outdated
  useEffect(() => setMade(null), [name, versionId]);
  const share = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const password = String(form.get('password') ?? '');
    const until = new Date(Date.now() + Number(form.get('seconds')) * 1000).toISOString();
    const version = versionId === null || versionId === 'null' ? {} : { version_id: versionId };
    const wish = { bucket, key: name, expires_at: until, ...version, ...(password ? { password } : {}) };
    const { url } = await shareObject(accessKey, wish);
    setMade({ url, until });
    links.reload();
    await navigator.clipboard.writeText(url).then(
      () => showToast(t.linkCopied),
      () => showToast(t.linkShownBelow),
    );
  };
  const download = async () => {
    const version = versionId ? { versionId } : {};
    location.assign(await linkTo(accessKey, bucket, name, { expiresSeconds: 300, download: true, ...version }));
  };
  return (
    <div className="stack">
      <div className="row wrap">
        <button type="button" className="primary" onClick={() => void download()}>
          {t.download}
        </button>
      </div>
      <form className="row wrap" aria-label={t.share} onSubmit={(event) => void share(event).catch(showError)}>
        <button type="submit">{t.copyLink}</button>
        <label className="row small">
          {t.goodFor}
          <select name="seconds" defaultValue={String(USUAL_SECONDS)}>
            {TIMES.map(([count, unit, seconds]) => (
              <option key={seconds} value={String(seconds)}>
                {formatUnit(count, unit)}
              </option>
            ))}
          </select>
        </label>
        <label className="row small">
          {t.linkPassword}
          <input name="password" type="text" autoComplete="off" spellCheck={false} placeholder={t.linkPasswordNone} />
        </label>
      </form>
      {made && (
        <div>
          <input readOnly value={made.url} aria-label={t.link} onFocus={(event) => event.target.select()} />
          <p className="muted small">{fill(t.linkUntil, { date: formatDateTime(made.until) })}</p>
        </div>
      )}
      <LinkList
        links={links.value ?? []}
        onEnd={(id) => void endLink(accessKey, id).then(() => links.reload(), showError)}
      />
    </div>
  );
}

/** The links to the object that work. Their addresses are not stored, so they cannot be shown again. */
function LinkList({ links, onEnd }: { links: readonly ShareLink[]; onEnd: (id: string) => void }) {
  if (links.length === 0) return null;
  return (
    <ul className="plain stack" aria-label={t.links}>
      {links.map((link) => (
        <li key={link.link_id} className="row wrap small">
          <span>
            {fill(link.has_password ? t.linkWithPassword : t.linkOpen, { date: formatDateTime(link.expires_at) })}
            {' · '}
            {fill(t.linkOpenings, { count: formatCount(link.openings) })}
          </span>
          <button type="button" onClick={() => onEnd(link.link_id)}>
            {t.endLink}
          </button>
        </li>
      ))}
    </ul>
  );
}
