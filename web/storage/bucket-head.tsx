/** Name of the bucket, or the path of the folder, and the tabs of the bucket. */
import { toHash } from '../shared/hash-route.ts';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';

export const TABS = ['objects', 'versions', 'jobs', 'settings', 'connect'] as const;
export type Tab = (typeof TABS)[number];

const t = storageTexts;

/** Shows the head of a bucket. @param prefix the folder. The tabs Objects and Versions share it. */
export function BucketHead({ bucket, prefix, tab }: { bucket: string; prefix: string; tab: Tab }) {
  const parts = prefix.split('/').filter(Boolean);
  const partHash = (index: number) =>
    toHash(tab === 'versions' ? ['b', bucket, tab] : ['b', bucket], {
      prefix: `${parts.slice(0, index + 1).join('/')}/`,
    });
  return (
    <header className="bucket-head">
      <nav className="crumbs" aria-label={t.objects.place}>
        <a href={toHash([])}>{t.buckets.title}</a>
        <span aria-hidden="true">/</span>
        <a href={toHash(['b', bucket])}>{bucket}</a>
        {(tab === 'objects' || tab === 'versions') &&
          parts.map((part, index) => (
            <span key={parts.slice(0, index + 1).join('/')}>
              <span aria-hidden="true">/ </span>
              <a href={partHash(index)}>{part}</a>
            </span>
          ))}
      </nav>
      <nav className="tabs" aria-label={fill(t.tabs.label, { name: bucket })}>
        {TABS.map((one) => (
          <a
            key={one}
            href={toHash(one === 'objects' ? ['b', bucket] : ['b', bucket, one], one === 'settings' ? {} : { prefix })}
            aria-current={one === tab ? 'page' : undefined}
          >
            {t.tabs[one]}
          </a>
        ))}
      </nav>
    </header>
  );
}
