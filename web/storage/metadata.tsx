/** User metadata and content type of an object, shown and changed. */
import type { FormEvent } from 'react';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { notifyChange } from './changes.ts';
import { type Head, putHead } from './object-head.ts';
import type { Key } from './s3.ts';

const t = storageTexts.object;

interface Props {
  accessKey: Key;
  bucket: string;
  name: string;
  head: Head;
  /** Whether this is the newest version. S3 cannot change the metadata of older ones. */
  isNewest: boolean;
}

export function Metadata({ accessKey, bucket, name, head, isNewest }: Props) {
  const save = (metadata: [string, string][], contentType = head.contentType) =>
    putHead(accessKey, bucket, name, head, { metadata, contentType }).then(() => {
      showToast(t.metadataSaved);
      notifyChange(bucket, [name]);
    }, showError);
  const without = (member: string) => head.metadata.filter(([one]) => one !== member);
  const add = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const member = String(form.get('member')).trim().toLowerCase();
    const value = String(form.get('value')).trim();
    event.currentTarget.reset();
    if (member) void save([...without(member), [member, value]]);
  };
  const changeType = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const type = String(new FormData(event.currentTarget).get('type')).trim();
    if (type && type !== head.contentType) void save(head.metadata, type);
  };
  return (
    <section className="stack" aria-label={t.metadata}>
      <h3>{t.metadata}</h3>
      {head.metadata.length === 0 && <p className="muted small">{t.none}</p>}
      {head.metadata.length > 0 && (
        <dl className="facts small">
          {head.metadata.map(([member, value]) => (
            <div key={member}>
              <dt>{member}</dt>
              <dd>
                {value}{' '}
                {isNewest && (
                  <button
                    type="button"
                    className="link"
                    aria-label={fill(t.remove, { member })}
                    onClick={() => void save(without(member))}
                  >
                    ✕
                  </button>
                )}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {isNewest && (
        <>
          <form className="row" onSubmit={add}>
            <input
              name="member"
              aria-label={t.nameMetadata}
              placeholder={t.name}
              required
              maxLength={128}
              pattern="[A-Za-z0-9._\-]+"
              title={t.nameRule}
            />
            <input name="value" aria-label={t.valueMetadata} placeholder={t.value} maxLength={1024} />
            <button type="submit">{t.set}</button>
          </form>
          <form key={head.contentType} className="row" onSubmit={changeType}>
            <input name="type" aria-label={t.typeContent} defaultValue={head.contentType} maxLength={200} />
            <button type="submit">{t.changeType}</button>
          </form>
        </>
      )}
    </section>
  );
}
