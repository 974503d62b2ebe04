/** The tab Versions: a folder as it was at any moment, and its deleted objects. */
import { type FormEvent, useEffect, useMemo, useState } from 'react';
import { describeError } from '../shared/api.ts';
import { Dialog } from '../shared/dialog.tsx';
import { formatBytes, formatCount, formatExact } from '../shared/format.ts';
import { go, toHash } from '../shared/hash-route.ts';
import { IconButton } from '../shared/icon-button.tsx';
import { useStore } from '../shared/store.ts';
import { fill, plural } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { useLoaded } from '../shared/use-loaded.ts';
import { isVersion, toNext, withMarkers } from './bulk.ts';
import { changes } from './changes.ts';
import {
  type Difference,
  deletedNow,
  type HistoryVersion,
  historyAt,
  momentsOf,
  toHistory,
  toRestoration,
} from './history-at.ts';
import { startRestoration } from './jobs.ts';
import { getVersioning, type Key, s3 } from './s3.ts';
import { parseXml, textOf } from './xml.ts';

const t = storageTexts.history;
/** Limit of versions to read, because more would take too long. */
const VERSIONS_MAX = 20_000;
const ROWS_MAX = 300;

interface Place {
  accessKey: Key;
  bucket: string;
  prefix: string;
}

interface Read {
  versions: HistoryVersion[];
  isCut: boolean;
}

async function readVersions(
  { accessKey, bucket, prefix }: Place,
  signal: AbortSignal,
  onPage: (count: number) => void,
): Promise<Read> {
  const versions: HistoryVersion[] = [];
  let next: string | null = null;
  do {
    const query = withMarkers({ versions: '', prefix, 'max-keys': '1000' }, next);
    const answer = parseXml(await (await s3(accessKey, { bucket, query, signal })).text());
    for (const one of answer.children.filter(isVersion)) {
      versions.push({
        key: textOf(one, 'Key'),
        versionId: textOf(one, 'VersionId'),
        isMarker: one.name === 'DeleteMarker',
        size: Number(textOf(one, 'Size') || 0),
        modifiedAt: textOf(one, 'LastModified'),
      });
    }
    next = toNext(answer);
    onPage(versions.length);
  } while (next !== null && versions.length < VERSIONS_MAX);
  return { versions, isCut: next !== null };
}

/** Reads the versions again when objects change. The previous result is shown until the new one arrives. */
function useHistory(place: Place): { read: Read | null; count: number; error: string | null } {
  const change = useStore(changes, (state) => state.count);
  const { accessKey, bucket, prefix } = place;
  const [state, setState] = useState<{ read: Read | null; count: number; error: string | null }>({
    read: null,
    count: 0,
    error: null,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of objects makes the history outdated
  useEffect(() => {
    const stop = new AbortController();
    const set = (part: Partial<typeof state>) => !stop.signal.aborted && setState((before) => ({ ...before, ...part }));
    readVersions({ accessKey, bucket, prefix }, stop.signal, (count) => set({ count })).then(
      (read) => set({ read, error: null }),
      (error) => set({ error: describeError(error) }),
    );
    return () => stop.abort();
  }, [accessKey, bucket, prefix, change]);
  return state;
}

function PrefixForm({ bucket, prefix }: { bucket: string; prefix: string }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const typed = String(new FormData(event.currentTarget).get('prefix'));
    go(toHash(['b', bucket, 'versions'], { prefix: typed }));
  };
  return (
    <form className="row prefix-form" onSubmit={submit}>
      <input name="prefix" aria-label={t.prefix} placeholder={t.prefix} defaultValue={prefix} spellCheck={false} />
      <button type="submit">{t.show}</button>
    </form>
  );
}

interface TableProps {
  bucket: string;
  prefix: string;
  label: string;
  rows: readonly Difference[];
  onRestore: (rows: readonly Difference[]) => void;
}

function Differences({ bucket, prefix, label, rows, onRestore }: TableProps) {
  return (
    <>
      <table className="objects">
        <caption className="visually-hidden">{label}</caption>
        <tbody>
          {rows.slice(0, ROWS_MAX).map((row) => (
            <tr key={row.key} data-kind={row.kind}>
              <th scope="row" className="name-cell">
                <a href={toHash(['b', bucket, 'versions'], { prefix, key: row.key })}>
                  <bdi className="name-text">{row.key.slice(prefix.length)}</bdi>
                </a>{' '}
                <span className={row.kind === 'deleted' ? 'badge bad' : 'badge'}>{t.kinds[row.kind]}</span>
              </th>
              <td className="numeric muted">{row.then && formatBytes(row.then.size)}</td>
              <td className="muted when-cell">{row.then && formatExact(row.then.modifiedAt)}</td>
              <td className="numeric">
                <button type="button" className="small row-action" onClick={() => onRestore([row])}>
                  {t.restoreOne}
                  <span className="visually-hidden"> {row.key}</span>
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > ROWS_MAX && (
        <p className="muted small">{fill(t.andMore, { count: formatCount(rows.length - ROWS_MAX) })}</p>
      )}
    </>
  );
}

interface SliderProps {
  moments: readonly string[];
  index: number;
  onMove: (index: number) => void;
}

/** Slider over the moments of a folder's history. @param index position in `moments`; `moments.length` means now. */
function Slider({ moments, index, onMove }: SliderProps) {
  const moment = moments[index];
  const text = moment === undefined ? t.now : formatExact(moment);
  return (
    <div className="time-slider">
      <output>{text}</output>
      <IconButton icon="previous" label={t.earlier} isDisabled={index === 0} onClick={() => onMove(index - 1)} />
      <input
        type="range"
        min={0}
        max={moments.length}
        value={index}
        aria-label={t.slider}
        aria-valuetext={text}
        onInput={(event) => onMove(Number(event.currentTarget.value))}
      />
      <IconButton icon="next" label={t.later} isDisabled={index === moments.length} onClick={() => onMove(index + 1)} />
    </div>
  );
}

function RestoreDialog({
  place,
  moment,
  rows,
  onConfirm,
  onClose,
}: {
  place: string;
  moment: string;
  rows: readonly Difference[];
  onConfirm: () => void;
  onClose: () => void;
}) {
  const deleted = rows.filter(({ kind }) => kind === 'added').length;
  const restored = rows.length - deleted;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onClose();
    onConfirm();
  };
  return (
    <Dialog title={fill(t.restoreTitle, { place })} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p>{fill(t.restoreText, { place, time: formatExact(moment) })}</p>
        <ul>
          {restored > 0 && <li>{fill(t.willRestore, { count: plural(storageTexts.counts.objects, restored) })}</li>}
          {deleted > 0 && <li>{fill(t.willDelete, { count: plural(storageTexts.counts.objects, deleted) })}</li>}
        </ul>
        <div className="row">
          <button type="submit" className="primary">
            {t.restoreAction}
          </button>
          <button type="button" onClick={onClose}>
            {storageTexts.cancel}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function History({ accessKey, bucket, prefix }: Place) {
  const { read, count, error } = useHistory({ accessKey, bucket, prefix });
  const versioning = useLoaded(() => getVersioning(accessKey, bucket), [accessKey, bucket]);
  const [chosen, setChosen] = useState<string | null>(null);
  const [isAsking, setAsking] = useState(false);
  const versions = read?.versions;
  const history = useMemo(() => toHistory(versions ?? []), [versions]);
  const moments = useMemo(() => momentsOf(versions ?? []), [versions]);
  const index = chosen === null ? moments.length : Math.max(0, moments.indexOf(chosen));
  const then = useMemo(() => (chosen === null ? null : historyAt(history, chosen)), [history, chosen]);
  const deleted = useMemo(() => deletedNow(history), [history]);
  const place = `${bucket}/${prefix}`;
  const rows = then ? then.differences : deleted;
  const restore = (some: readonly Difference[]) =>
    void startRestoration(accessKey, bucket, fill(t.jobTitle, { place }), toRestoration(some));
  return (
    <section className="bucket-page stack" aria-label={storageTexts.tabs.versions}>
      <div className="row wrap">
        <p className="muted grow">{fill(t.about, { place })}</p>
        <PrefixForm bucket={bucket} prefix={prefix} />
      </div>
      {versioning.value === '' && (
        <p className="banner">
          <span className="grow">{t.notKept}</span>
          <a className="button" href={toHash(['b', bucket, 'settings'])}>
            {t.turnOn}
          </a>
        </p>
      )}
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
      {!read && !error && <p className="muted">{fill(t.reading, { count: formatCount(count) })}</p>}
      {read?.isCut && <p className="banner">{fill(t.cut, { count: formatCount(read.versions.length) })}</p>}
      {read && moments.length === 0 && <p className="muted">{t.never}</p>}
      {read && moments.length > 0 && (
        <>
          <Slider moments={moments} index={index} onMove={(to) => setChosen(moments[to] ?? null)} />
          <div className="row wrap" role="status">
            <h2>{then ? t.changes : t.deletedTitle}</h2>
            <span className="muted history-sum">
              {then
                ? fill(t.total, {
                    count: plural(storageTexts.counts.objects, then.count),
                    size: formatBytes(then.bytes),
                  })
                : deleted.length > 0 && t.deletedHint}
            </span>
            {rows.length > 0 && then && (
              <button type="button" className="primary" onClick={() => setAsking(true)}>
                {t.restore}
              </button>
            )}
            {rows.length > 1 && !then && (
              <button type="button" onClick={() => restore(rows)}>
                {fill(t.restoreAll, { count: formatCount(rows.length) })}
              </button>
            )}
          </div>
          {rows.length === 0 && <p className="muted">{then ? t.same : t.noneDeleted}</p>}
          {rows.length > 0 && (
            <Differences
              bucket={bucket}
              prefix={prefix}
              label={then ? t.changes : t.deletedTitle}
              rows={rows}
              onRestore={restore}
            />
          )}
        </>
      )}
      {isAsking && chosen !== null && (
        <RestoreDialog
          place={place}
          moment={chosen}
          rows={rows}
          onConfirm={() => restore(rows)}
          onClose={() => setAsking(false)}
        />
      )}
    </section>
  );
}
