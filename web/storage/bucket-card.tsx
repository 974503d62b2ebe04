/** A bucket in the list of buckets, with its size and number of objects. */
import { formatBytes, formatCount, formatDay } from '../shared/format.ts';
import { toHash } from '../shared/hash-route.ts';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { useFigures } from './figures.ts';
import type { Bucket, Key } from './s3.ts';
import { useSeen } from './use-seen.ts';

const t = storageTexts.buckets;

interface Props {
  accessKey: Key;
  bucket: Bucket;
  onEmpty: () => void;
  onDelete: () => void;
}

export function BucketCard({ accessKey, bucket, onEmpty, onDelete }: Props) {
  const { name, createdAt } = bucket;
  const [ref, isSeen] = useSeen<HTMLLIElement>();
  const { figures, isPublic, isCounting, error, countAll } = useFigures(accessKey, name, isSeen);
  const isPart = figures !== null && figures.next !== null;
  const show = (value: (of: NonNullable<typeof figures>) => string) => {
    if (figures === null) return error === null ? '…' : '–';
    return isPart ? fill(t.atLeast, { value: value(figures) }) : value(figures);
  };
  const facts: [string, string][] = [
    [t.size, show(({ bytes }) => formatBytes(bytes))],
    [t.objects, show(({ objects }) => formatCount(objects))],
    [t.versions, show(({ versions }) => formatCount(versions))],
  ];
  return (
    <li ref={ref} className="card bucket-card" aria-busy={isSeen && isCounting}>
      <div className="row">
        <h2 className="grow name-cell">
          <a href={toHash(['b', name])}>{name}</a>
        </h2>
        {isPublic && (
          <span className="badge warn" title={t.publicHint}>
            {t.isPublic}
          </span>
        )}
      </div>
      <dl>
        {facts.map(([term, value]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {error !== null && <p className="muted small">{t.notAllowed}</p>}
      {isPart && (
        <button type="button" className="link small" disabled={isCounting} onClick={countAll}>
          {isCounting ? t.counting : t.countAll}
          <span className="visually-hidden"> {name}</span>
        </button>
      )}
      <div className="row bucket-foot">
        <span className="muted small grow">{fill(t.since, { date: formatDay(createdAt) })}</span>
        <button type="button" className="quiet small" onClick={onEmpty}>
          {t.empty}
          <span className="visually-hidden"> {name}</span>
        </button>
        <button type="button" className="quiet small" onClick={onDelete}>
          {t.delete}
          <span className="visually-hidden"> {name}</span>
        </button>
      </div>
    </li>
  );
}
