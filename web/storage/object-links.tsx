/** Download of an object, and links to it for other people. */
import { useEffect, useState } from 'react';
import { formatDateTime, formatUnit } from '../shared/format.ts';
import { toHash } from '../shared/hash-route.ts';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { showToast } from '../shared/toasts.tsx';
import { findLinkTimes } from './link-times.ts';
import { type Key, linkTo } from './s3.ts';

const t = storageTexts.object;
/** Choice of a link that ends with the key. */
const KEY_END = 'key-end';

/** Says when the key ends, and how to get a longer link. */
function KeyEnd({ date }: { date: string }) {
  const [before = '', after = ''] = t.longerLink.split('{key}');
  return (
    <p className="muted small">
      {fill(t.keyEnds, { date })} {before}
      <a href={toHash(['keys'])}>{t.longerLinkKey}</a>
      {after}
    </p>
  );
}

interface Props {
  accessKey: Key;
  bucket: string;
  name: string;
  versionId: string | null;
}

export function ObjectLinks({ accessKey, bucket, name, versionId }: Props) {
  const [chosen, setChosen] = useState('3600');
  const [link, setLink] = useState({ url: '', until: '' });
  const version = versionId ? { versionId } : {};
  const keyEnd = accessKey.expiresAt ?? '';
  const findTimes = () => findLinkTimes(keyEnd === '' ? null : Date.parse(keyEnd), Date.now());
  const { choices, secondsToKeyEnd } = findTimes();
  const value = choices.some(({ seconds }) => String(seconds) === chosen) ? chosen : KEY_END;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another object or expiry makes the shown link outdated
  useEffect(() => setLink({ url: '', until: '' }), [name, versionId, value]);
  const copy = async () => {
    const left = findTimes().secondsToKeyEnd ?? Number.POSITIVE_INFINITY;
    const expiresSeconds = Math.max(1, value === KEY_END ? left : Math.min(Number(value), left));
    const url = await linkTo(accessKey, bucket, name, { expiresSeconds, ...version });
    const until = value === KEY_END ? keyEnd : new Date(Date.now() + expiresSeconds * 1000).toISOString();
    setLink({ url, until });
    await navigator.clipboard.writeText(url).then(
      () => showToast(t.linkCopied),
      () => showToast(t.linkShownBelow),
    );
  };
  const download = async () => {
    location.assign(await linkTo(accessKey, bucket, name, { expiresSeconds: 300, download: true, ...version }));
  };
  return (
    <div className="stack">
      <div className="row wrap">
        <button type="button" className="primary" onClick={() => void download()}>
          {t.download}
        </button>
        <button type="button" onClick={() => void copy()}>
          {t.copyLink}
        </button>
        <label className="row small">
          {t.goodFor}
          <select value={value} onChange={(event) => setChosen(event.target.value)}>
            {choices.map(({ count, unit, seconds }) => (
              <option key={seconds} value={String(seconds)}>
                {formatUnit(count, unit)}
              </option>
            ))}
            {secondsToKeyEnd !== null && (
              <option value={KEY_END}>{fill(t.untilKeyEnds, { date: formatDateTime(keyEnd) })}</option>
            )}
          </select>
        </label>
      </div>
      {secondsToKeyEnd !== null && <KeyEnd date={formatDateTime(keyEnd)} />}
      {link.url && (
        <div>
          <input readOnly value={link.url} aria-label={t.link} onFocus={(event) => event.target.select()} />
          <p className="muted small">{fill(t.linkUntil, { date: formatDateTime(link.until) })}</p>
        </div>
      )}
    </div>
  );
}
