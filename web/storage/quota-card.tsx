/** The quota of a bucket. Only operators set it, on their page. */
import { formatBytes, formatCount } from '../shared/format.ts';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { useLoaded } from '../shared/use-loaded.ts';
import { type Key, s3 } from './s3.ts';

const t = storageTexts.quota;

interface Use {
  used: number;
  /** Limit of the quota; null if there is none. */
  limit: number | null;
}

async function readQuota(key: Key, bucket: string): Promise<{ bytes: Use; objects: Use } | null> {
  const { headers } = await s3(key, { method: 'HEAD', bucket, query: { quota: '' } });
  const toUse = (name: string): Use => {
    const limit = headers.get(`x-tessera-quota-${name}`);
    return { limit: limit === null ? null : Number(limit), used: Number(headers.get(`x-tessera-used-${name}`)) };
  };
  return headers.has('x-tessera-used-bytes') ? { bytes: toUse('bytes'), objects: toUse('objects') } : null;
}

function Line({ label, use, format }: { label: string; use: Use; format: (value: number) => string }) {
  const used = format(use.used);
  const text = use.limit === null ? fill(t.free, { used }) : fill(t.of, { used, limit: format(use.limit) });
  return (
    <div>
      <div className="row">
        <span className="grow">{label}</span>
        <span className="muted">{text}</span>
      </div>
      {use.limit !== null && (
        <meter
          className="quota-meter"
          min={0}
          max={Math.max(1, use.limit)}
          high={Math.max(1, use.limit) * 0.9}
          optimum={0}
          value={use.used}
          aria-label={`${label}: ${text}`}
        />
      )}
    </div>
  );
}

export function QuotaCard({ accessKey, bucket }: { accessKey: Key; bucket: string }) {
  const { value, error, isLoading } = useLoaded(() => readQuota(accessKey, bucket), [accessKey, bucket]);
  return (
    <section className="card stack" aria-label={t.title}>
      <h2>{t.title}</h2>
      <p className="muted small">{t.about}</p>
      {error && <p className="error-box">{error}</p>}
      {value && (
        <>
          <Line label={t.bytes} use={value.bytes} format={formatBytes} />
          <Line label={t.objects} use={value.objects} format={formatCount} />
        </>
      )}
      {!value && !error && !isLoading && <p>{t.none}</p>}
      <p className="small">
        <a href={`/_/operator#/quotas?bucket=${encodeURIComponent(bucket)}`}>{t.set}</a>
      </p>
    </section>
  );
}
