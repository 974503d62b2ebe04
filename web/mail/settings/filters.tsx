/** Filters in their order, and the addresses that they may forward to. */
import { useState } from 'react';
import { callJson } from '../../shared/api.ts';
import { go, toHash, useRoute } from '../../shared/hash-route.ts';
import { fill, texts } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { showError } from '../../shared/toasts.tsx';
import { hasUnsaved } from '../../shared/unsaved.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';
import { type Filter, type FilterRequest, filterPath } from '../model/settings-api.ts';
import { FilterForm, nameOfForm } from './filter-form.tsx';
import { ForwardTargets } from './forward-targets.tsx';

const t = mailSettingsTexts.filters;

const Unsaved = ({ filter }: { filter: Filter }) =>
  hasUnsaved(nameOfForm(filter, null)) ? <span className="muted small">{texts.app.unsaved}</span> : null;

const isNewKept = () => hasUnsaved(nameOfForm(null, null));

export function Filters() {
  const { value, error, reload } = useLoaded(() => callJson<Filter[]>('/v1/filters'), []);
  const from = useRoute().query.get('from');
  const [editing, setEditing] = useState<Filter | 'new' | null>(from || isNewKept() ? 'new' : null);
  if (editing) {
    return (
      <FilterForm
        filter={editing === 'new' ? null : editing}
        from={editing === 'new' ? from : null}
        onDone={() => {
          setEditing(null);
          go(toHash(['settings', 'filters']), { replace: true });
          reload();
        }}
      />
    );
  }
  const put = (filter: Filter, part: Partial<FilterRequest>) => {
    const { id: _, ...rule } = filter;
    callJson(filterPath(filter), { method: 'PUT', body: { ...rule, ...part } }).then(reload, showError);
  };
  const remove = (filter: Filter) => {
    if (confirm(fill(t.confirmRemove, { name: filter.name })))
      callJson(filterPath(filter), { method: 'DELETE' }).then(reload, showError);
  };
  return (
    <div className="stack">
      {error && <p className="error-box">{error}</p>}
      {value?.length === 0 && <p className="muted">{t.empty}</p>}
      <ol className="plain-list filter-list">
        {value?.map((filter, index) => (
          <li key={filter.id}>
            <label className="check grow">
              <input
                type="checkbox"
                checked={filter.enabled}
                onChange={() => put(filter, { enabled: !filter.enabled })}
              />
              <bdi>{filter.name}</bdi>
              <Unsaved filter={filter} />
            </label>
            <button
              type="button"
              className="quiet icon"
              disabled={index === 0}
              aria-label={fill(t.moveUp, { name: filter.name })}
              onClick={() => put(filter, { position: index - 1 })}
            >
              ↑
            </button>
            <button type="button" className="quiet" onClick={() => setEditing(filter)}>
              {t.edit}
              <span className="visually-hidden"> {filter.name}</span>
            </button>
            <button type="button" className="quiet" onClick={() => remove(filter)}>
              {t.remove}
              <span className="visually-hidden"> {filter.name}</span>
            </button>
          </li>
        ))}
      </ol>
      <div>
        <button type="button" className="primary" onClick={() => setEditing('new')}>
          {t.newFilter}
        </button>
      </div>
      <ForwardTargets />
    </div>
  );
}
