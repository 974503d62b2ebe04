/** One object: details, preview, links, metadata, tags and versions. */
import { type FormEvent, useState } from 'react';
import { formatBytes, formatDateTime } from '../shared/format.ts';
import { go, readRoute, toHash } from '../shared/hash-route.ts';
import { useStore } from '../shared/store.ts';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { showError } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { changes, notifyChange } from './changes.ts';
import { Metadata } from './metadata.tsx';
import { readHead } from './object-head.ts';
import { ObjectLinks } from './object-links.tsx';
import { Preview } from './preview.tsx';
import { getTags, type Key, listVersions, putTags, s3, type Tag } from './s3.ts';
import { Versions } from './versions.tsx';

const t = storageTexts.object;

function Tags({ accessKey, bucket, name }: { accessKey: Key; bucket: string; name: string }) {
  const { value, reload } = useLoaded(() => getTags(accessKey, bucket, name), [accessKey, bucket, name]);
  const save = (tags: Tag[]) => putTags(accessKey, bucket, name, tags).then(reload, showError);
  const add = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const tag = { name: String(form.get('name')).trim(), value: String(form.get('value')).trim() };
    event.currentTarget.reset();
    if (tag.name && value) void save([...value.filter((one) => one.name !== tag.name), tag]);
  };
  return (
    <section className="stack" aria-label={t.tags}>
      <h3>{t.tags}</h3>
      <p className="row wrap">
        {value?.map((tag) => (
          <span key={tag.name} className="badge">
            {tag.name}: {tag.value}{' '}
            <button
              type="button"
              className="link"
              aria-label={fill(t.removeTag, { name: tag.name })}
              onClick={() => void save(value.filter((one) => one.name !== tag.name))}
            >
              ✕
            </button>
          </span>
        ))}
        {value?.length === 0 && <span className="muted small">{t.none}</span>}
      </p>
      <form className="row" onSubmit={add}>
        <input name="name" aria-label={t.nameTag} placeholder={t.name} required maxLength={128} />
        <input name="value" aria-label={t.valueTag} placeholder={t.value} maxLength={256} />
        {/* S3 replaces all tags in one request, so the present ones must be loaded first. */}
        <button type="submit" disabled={value === null}>
          {t.add}
        </button>
      </form>
    </section>
  );
}

export function ObjectPanel({
  accessKey,
  bucket,
  prefix,
  name,
}: {
  accessKey: Key;
  bucket: string;
  prefix: string;
  name: string;
}) {
  const change = useStore(changes, (state) => state.count);
  const [versionId, setVersionId] = useState<string | null>(null);
  const info = useLoaded(
    () => readHead(accessKey, bucket, name, versionId),
    [accessKey, bucket, name, versionId, change],
  );
  const versions = useLoaded(() => listVersions(accessKey, bucket, name), [accessKey, bucket, name, change]);
  const close = () => go(toHash(readRoute().parts, { prefix }));
  const remove = () => {
    const isKept = (versions.value ?? []).some((version) => version.versionId !== 'null');
    if (!confirm(isKept ? fill(t.confirmDelete, { name }) : fill(t.confirmErase, { name }))) return;
    s3(accessKey, { method: 'DELETE', bucket, key: name }).then(() => notifyChange(bucket, [name]), showError);
  };
  const facts: [string, string][] = info.value
    ? [
        [t.size, formatBytes(info.value.size)],
        [t.type, info.value.contentType],
        [t.changed, formatDateTime(info.value.modifiedAt)],
        [t.etag, info.value.etag],
        [t.version, info.value.objectVersion],
        [t.objectId, info.value.objectId],
      ]
    : [];
  return (
    <aside className="object-panel stack" aria-label={fill(t.named, { name })}>
      <div className="row">
        <h2 className="grow object-name">{name.split('/').at(-1) || name}</h2>
        <button type="button" className="quiet icon" aria-label={t.close} onClick={close}>
          ✕
        </button>
      </div>
      {versionId && (
        <p className="banner small">
          {t.olderVersion}{' '}
          <button type="button" className="link" onClick={() => setVersionId(null)}>
            {t.showNewest}
          </button>
        </p>
      )}
      {(info.error ?? versions.error) && <p className="error-box">{info.error ?? versions.error}</p>}
      {!info.isLoading && !info.error && info.value === null && <p className="muted">{t.noObject}</p>}
      {info.value && (
        <>
          <Preview
            key={`${name}.${info.value.objectVersion}`}
            accessKey={accessKey}
            bucket={bucket}
            name={name}
            contentType={info.value.contentType}
            size={info.value.size}
            versionId={versionId}
          />
          <ObjectLinks accessKey={accessKey} bucket={bucket} name={name} versionId={versionId} />
          <dl className="facts small">
            {facts
              .filter(([, value]) => value)
              .map(([term, value]) => (
                <div key={term}>
                  <dt>{term}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
          </dl>
        </>
      )}
      {versions.value && versions.value.length > 0 && (
        <section className="stack" aria-label={t.versions}>
          <h3>{t.versions}</h3>
          <Versions
            accessKey={accessKey}
            bucket={bucket}
            name={name}
            versions={versions.value}
            shown={versionId}
            onShow={setVersionId}
            onChanged={() => setVersionId(null)}
          />
          {versions.value.every((version) => version.versionId === 'null') && (
            <p className="muted small">
              {t.keepsNone} <a href={toHash(['b', bucket, 'settings'])}>{t.turnOn}</a>
            </p>
          )}
        </section>
      )}
      {info.value && (
        <>
          <Metadata accessKey={accessKey} bucket={bucket} name={name} head={info.value} isNewest={versionId === null} />
          <Tags accessKey={accessKey} bucket={bucket} name={name} />
        </>
      )}
      {info.value && !versionId && (
        <div>
          <button type="button" className="danger" onClick={remove}>
            {t.delete}
          </button>
        </div>
      )}
    </aside>
  );
}
