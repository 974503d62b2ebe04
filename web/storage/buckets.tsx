/** All buckets that the key can list, and a form to create one. */
import { type FormEvent, useState } from 'react';
import { describeError } from '../shared/api.ts';
import { go, toHash } from '../shared/hash-route.ts';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { BucketCard } from './bucket-card.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import { startDeletion } from './jobs.ts';
import { type Key, listBuckets, putVersioning, S3Error, s3 } from './s3.ts';
import { Snippet } from './snippet.tsx';
import { createBucketCommand } from './snippets.ts';

const t = storageTexts.buckets;
/** Number of buckets from which the list has a search field. */
const SEARCH_FROM = 7;

interface Emptying {
  bucket: string;
  /** Whether the bucket is deleted once it is empty. */
  isDeletedAfter: boolean;
}

/**
 * Turns the typed text into a bucket name: capitals and spaces are the usual mistakes. Keeps the length of the text, so that the
 * caret stays in place.
 */
function tidyName(event: FormEvent<HTMLInputElement>): void {
  const field = event.currentTarget;
  const tidy = field.value.toLowerCase().replaceAll(/[\s_]/g, '-');
  if (tidy === field.value) return;
  const caret = field.selectionStart;
  field.value = tidy;
  field.setSelectionRange(caret, caret);
}

export function Buckets({ accessKey }: { accessKey: Key }) {
  const { value, error, isLoading, reload } = useLoaded(() => listBuckets(accessKey), [accessKey]);
  const [emptying, setEmptying] = useState<Emptying | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [search, setSearch] = useState('');
  const create = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const bucket = String(form.get('name')).trim();
    try {
      await s3(accessKey, { method: 'PUT', bucket });
      if (form.has('versions')) await putVersioning(accessKey, bucket, 'Enabled');
      showToast(fill(t.created, { name: bucket }));
      go(toHash(['b', bucket]));
    } catch (cause) {
      reload();
      setProblem(describeError(cause));
    }
  };
  const remove = async (bucket: string) => {
    if (!confirm(fill(t.confirmDelete, { name: bucket }))) return;
    try {
      await s3(accessKey, { method: 'DELETE', bucket });
      reload();
    } catch (cause) {
      if (cause instanceof S3Error && cause.code === 'BucketNotEmpty') setEmptying({ bucket, isDeletedAfter: true });
      else showError(cause);
    }
  };
  const empty = async ({ bucket, isDeletedAfter }: Emptying) => {
    const job = await startDeletion(accessKey, bucket, fill(t.emptyJob, { name: bucket }), {
      keys: [],
      prefixes: [''],
      isPermanent: true,
    });
    reload();
    if (job?.state !== 'done' || !isDeletedAfter) return;
    s3(accessKey, { method: 'DELETE', bucket }).then(() => {
      showToast(fill(t.deleted, { name: bucket }));
      reload();
    }, showError);
  };
  const shown = (value ?? []).filter(({ name }) => name.includes(search.trim().toLowerCase()));
  return (
    <div className="page stack-large">
      <h1>{t.title}</h1>
      <div className="row wrap">
        <form className="row wrap new-bucket" onSubmit={create}>
          <input
            name="name"
            className="field-name"
            onInput={tidyName}
            required
            minLength={3}
            maxLength={63}
            pattern="[a-z0-9][a-z0-9.\-]+[a-z0-9]"
            title={t.nameRule}
            aria-label={t.nameLabel}
            placeholder={t.namePlaceholder}
          />
          <label className="check">
            <input type="checkbox" name="versions" />
            {t.keepOld}
          </label>
          <button type="submit" className="primary">
            {t.create}
          </button>
        </form>
        <span className="grow" />
        {value && value.length >= SEARCH_FROM && (
          <input
            type="search"
            className="find"
            aria-label={t.find}
            placeholder={t.find}
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
        )}
      </div>
      {(problem ?? error) && (
        <p className="error-box" role="alert">
          {problem ?? error}
        </p>
      )}
      {emptying && (
        <DeleteDialog
          title={fill(emptying.isDeletedAfter ? t.isNotEmpty : t.emptyTitle, { name: emptying.bucket })}
          text={fill(emptying.isDeletedAfter ? t.emptyAndDeleteText : t.emptyText, { name: emptying.bucket })}
          hasVersions
          isAlwaysPermanent
          nameToType={emptying.bucket}
          action={emptying.isDeletedAfter ? t.emptyAndDelete : t.emptyAction}
          onConfirm={() => void empty(emptying)}
          onClose={() => setEmptying(null)}
        />
      )}
      {isLoading && !value && <p className="muted">{storageTexts.loading}</p>}
      {value?.length === 0 && (
        <div className="stack">
          <p className="muted">{t.none}</p>
          <div className="stack from-terminal">
            <p className="muted">{t.noneInTerminal}</p>
            <Snippet accessKey={accessKey} text={createBucketCommand(accessKey)} label="aws" />
          </div>
        </div>
      )}
      {value && value.length > 0 && shown.length === 0 && (
        <p className="muted">{fill(t.noMatch, { text: search.trim() })}</p>
      )}
      {shown.length > 0 && (
        <ul className="bucket-cards">
          {shown.map((bucket) => (
            <BucketCard
              key={`${bucket.name} ${bucket.createdAt}`}
              accessKey={accessKey}
              bucket={bucket}
              onEmpty={() => setEmptying({ bucket: bucket.name, isDeletedAfter: false })}
              onDelete={() => void remove(bucket.name)}
            />
          ))}
        </ul>
      )}
    </div>
  );
}
