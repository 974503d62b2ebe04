/** Filters in their order, and the form for one with a look at the mail it would catch. */
import { useDeferredValue, useEffect, useState } from 'react';
import { callJson, describeError } from '../shared/api.ts';
import { formatNumber, formatWhen } from '../shared/format.ts';
import { useStore } from '../shared/store.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { describeAddress } from './addresses.ts';
import { type Folder, type Summary, searchMessages } from './api.ts';
import { toSearchQuery } from './filter-preview.ts';
import { mailbox } from './mailbox.ts';
import type { Action, Condition, Filter, FilterRequest } from './settings-api.ts';

const path = (filter: Filter) => `/v1/filters/${encodeURIComponent(filter.id)}`;

const FIELDS: [Condition['field'], string][] = [
  ['from', 'From'],
  ['to', 'To or Cc'],
  ['subject', 'Subject'],
  ['body', 'Text'],
  ['header', 'Header field'],
  ['size', 'Size'],
  ['has_attachment', 'Has attachments'],
];
const ACTIONS: [Action['type'], string][] = [
  ['move', 'Move to'],
  ['label', 'Label'],
  ['mark_read', 'Mark as read'],
  ['flag', 'Flag'],
  ['forward', 'Forward to'],
  ['trash', 'Move to Trash'],
  ['stop', 'Try no further filters'],
];

function blankCondition(field: Condition['field']): Condition {
  switch (field) {
    case 'size':
      return { field, operator: 'larger', bytes: 1_000_000 };
    case 'has_attachment':
      return { field };
    case 'header':
      return { field, header_name: 'List-Id', operator: 'contains', value: '' };
    default:
      return { field, operator: 'contains', value: '' };
  }
}

function blankAction(type: Action['type'], folders: readonly Folder[]): Action {
  switch (type) {
    case 'move':
      return { type, folder_id: folders.find((folder) => folder.role === 'archive')?.id ?? '' };
    case 'label':
      return { type, label: '' };
    case 'forward':
      return { type, to: '' };
    default:
      return { type };
  }
}

function Options({ options }: { options: readonly (readonly [string, string])[] }) {
  return options.map(([value, label]) => (
    <option key={value} value={value}>
      {label}
    </option>
  ));
}

const TEXT_OPERATORS = [
  ['contains', 'contains'],
  ['is', 'is'],
  ['begins_with', 'begins with'],
  ['ends_with', 'ends with'],
] as const;

interface ConditionProps {
  condition: Condition;
  onChange: (condition: Condition) => void;
  onRemove: () => void;
}

function ConditionLine({ condition, onChange, onRemove }: ConditionProps) {
  return (
    <div className="filter-line">
      <select
        aria-label="What to look at"
        value={condition.field}
        onChange={(event) => onChange(blankCondition(event.target.value as Condition['field']))}
      >
        <Options options={FIELDS} />
      </select>
      {condition.field === 'size' ? (
        <>
          <select
            aria-label="How"
            value={condition.operator}
            onChange={(event) => onChange({ ...condition, operator: event.target.value as 'larger' | 'smaller' })}
          >
            <Options
              options={[
                ['larger', 'larger than'],
                ['smaller', 'smaller than'],
              ]}
            />
          </select>
          <input
            type="number"
            min={0}
            aria-label="Bytes"
            value={condition.bytes}
            onChange={(event) => onChange({ ...condition, bytes: event.target.valueAsNumber || 0 })}
          />
        </>
      ) : condition.field === 'has_attachment' ? (
        <span className="two-columns" />
      ) : (
        <>
          <select
            aria-label="How"
            value={condition.operator}
            onChange={(event) => onChange({ ...condition, operator: event.target.value } as Condition)}
          >
            <Options options={TEXT_OPERATORS} />
          </select>
          <span className="row">
            {condition.field === 'header' && (
              <input
                aria-label="Name of the header field"
                value={condition.header_name}
                onChange={(event) => onChange({ ...condition, header_name: event.target.value })}
              />
            )}
            <input
              aria-label="Text to look for"
              required
              maxLength={500}
              value={condition.value ?? ''}
              onChange={(event) => onChange({ ...condition, value: event.target.value } as Condition)}
            />
          </span>
        </>
      )}
      <button type="button" className="quiet icon" aria-label="Remove this condition" onClick={onRemove}>
        ✕
      </button>
    </div>
  );
}

interface ActionProps {
  action: Action;
  folders: readonly Folder[];
  onChange: (action: Action) => void;
  onRemove: () => void;
}

function ActionLine({ action, folders, onChange, onRemove }: ActionProps) {
  const targets = folders.filter((folder) => !['all', 'flagged', 'drafts', 'sent'].includes(folder.role ?? ''));
  return (
    <div className="filter-line short">
      <select
        aria-label="What to do"
        value={action.type}
        onChange={(event) => onChange(blankAction(event.target.value as Action['type'], folders))}
      >
        <Options options={ACTIONS} />
      </select>
      {action.type === 'move' && (
        <select
          aria-label="Folder"
          value={action.folder_id}
          onChange={(event) => onChange({ ...action, folder_id: event.target.value })}
        >
          <Options options={targets.map((folder) => [folder.id, folder.name] as const)} />
        </select>
      )}
      {action.type === 'label' && (
        <input
          aria-label="Label"
          required
          maxLength={100}
          value={action.label}
          onChange={(event) => onChange({ ...action, label: event.target.value })}
        />
      )}
      {action.type === 'forward' && (
        <input
          aria-label="Address"
          type="email"
          required
          value={action.to}
          onChange={(event) => onChange({ ...action, to: event.target.value })}
        />
      )}
      {!['move', 'label', 'forward'].includes(action.type) && <span />}
      <button type="button" className="quiet icon" aria-label="Remove this action" onClick={onRemove}>
        ✕
      </button>
    </div>
  );
}

function Preview({ query }: { query: string }) {
  const later = useDeferredValue(query);
  const [found, setFound] = useState<{ data: Summary[]; next_cursor: string | null } | null>(null);
  useEffect(() => {
    if (!later) {
      setFound(null);
      return;
    }
    let isCurrent = true;
    const timer = setTimeout(() => {
      searchMessages(later, null, 5).then(
        (page) => isCurrent && setFound(page),
        () => isCurrent && setFound(null),
      );
    }, 300);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [later]);
  if (!found) return null;
  return (
    <section className="card small" aria-label="What it would catch" aria-live="polite">
      <h3>{found.data.length === 0 ? 'It would have caught nothing so far' : 'It would have caught'}</h3>
      <ul className="plain-list">
        {found.data.map((message) => (
          <li key={message.id} className="row">
            <span className="ellipsis">{describeAddress(message.from)}</span>
            <span className="ellipsis grow">{message.subject}</span>
            <time className="muted">{formatWhen(message.date)}</time>
          </li>
        ))}
        {found.next_cursor && <li className="muted">and more</li>}
      </ul>
    </section>
  );
}

function FilterForm({ filter, onDone }: { filter: Filter | null; onDone: () => void }) {
  const folders = useStore(mailbox, (state) => state.folders);
  const [name, setName] = useState(filter?.name ?? '');
  const [match, setMatch] = useState<'all' | 'any'>(filter?.match ?? 'all');
  const [conditions, setConditions] = useState<Condition[]>(filter?.conditions ?? [blankCondition('from')]);
  const [actions, setActions] = useState<Action[]>(filter?.actions ?? [blankAction('move', folders)]);
  const [error, setError] = useState<string | null>(null);
  const replace = <T,>(list: T[], index: number, value: T | null): T[] =>
    list.flatMap((one, at) => (at === index ? (value === null ? [] : [value]) : [one]));
  const save = (isApplying: boolean) => {
    const body: FilterRequest = { name: name.trim(), enabled: filter?.enabled ?? true, match, conditions, actions };
    const saved = filter
      ? callJson<Filter>(path(filter), { method: 'PUT', body })
      : callJson<Filter>('/v1/filters', { body });
    saved
      .then(async (made) => {
        if (isApplying) {
          const { changed } = await callJson<{ changed: number }>(`${path(made)}/apply`, { method: 'POST' });
          showToast(`Saved, and applied to ${formatNumber(changed, 'message')}.`);
        } else showToast('Filter saved.');
        onDone();
      })
      .catch((cause: unknown) => setError(describeError(cause)));
  };
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        save(false);
      }}
    >
      <label className="field">
        <span>Name</span>
        <input required maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      <label className="row">
        When
        <select value={match} onChange={(event) => setMatch(event.target.value as 'all' | 'any')}>
          <option value="all">all of these hold</option>
          <option value="any">any of these holds</option>
        </select>
      </label>
      {conditions.map((condition, index) => (
        <ConditionLine
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no name but their place
          key={index}
          condition={condition}
          onChange={(next) => setConditions(replace(conditions, index, next))}
          onRemove={() => setConditions(replace(conditions, index, null))}
        />
      ))}
      <div>
        <button
          type="button"
          className="quiet"
          onClick={() => setConditions([...conditions, blankCondition('subject')])}
        >
          + Condition
        </button>
      </div>
      <Preview query={toSearchQuery(conditions, match)} />
      <h3>Then</h3>
      {actions.map((action, index) => (
        <ActionLine
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no name but their place
          key={index}
          action={action}
          folders={folders}
          onChange={(next) => setActions(replace(actions, index, next))}
          onRemove={() => setActions(replace(actions, index, null))}
        />
      ))}
      <div>
        <button
          type="button"
          className="quiet"
          onClick={() => setActions([...actions, blankAction('mark_read', folders)])}
        >
          + Action
        </button>
      </div>
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
      <div className="row wrap">
        <button type="submit" className="primary">
          Save
        </button>
        <button type="button" onClick={() => save(true)}>
          Save and apply to mail already here
        </button>
        <button type="button" className="quiet" onClick={onDone}>
          Cancel
        </button>
      </div>
    </form>
  );
}

export function Filters() {
  const { value, error, reload } = useLoaded(() => callJson<Filter[]>('/v1/filters'), []);
  const [editing, setEditing] = useState<Filter | 'new' | null>(null);
  if (editing) {
    return (
      <FilterForm
        filter={editing === 'new' ? null : editing}
        onDone={() => {
          setEditing(null);
          reload();
        }}
      />
    );
  }
  const put = (filter: Filter, part: Partial<FilterRequest>) => {
    const { id: _, ...rule } = filter;
    callJson(path(filter), { method: 'PUT', body: { ...rule, ...part } }).then(reload, showError);
  };
  const remove = (filter: Filter) => {
    if (confirm(`Remove the filter ${filter.name}?`))
      callJson(path(filter), { method: 'DELETE' }).then(reload, showError);
  };
  return (
    <div className="stack">
      {error && <p className="error-box">{error}</p>}
      {value?.length === 0 && <p className="muted">No filter yet. Filters sort mail as it arrives, in this order.</p>}
      <ol className="plain-list filter-list">
        {value?.map((filter, index) => (
          <li key={filter.id}>
            <label className="check grow">
              <input
                type="checkbox"
                checked={filter.enabled}
                onChange={() => put(filter, { enabled: !filter.enabled })}
              />
              {filter.name}
            </label>
            <button
              type="button"
              className="quiet icon"
              disabled={index === 0}
              aria-label={`Move ${filter.name} up`}
              onClick={() => put(filter, { position: index - 1 })}
            >
              ↑
            </button>
            <button type="button" className="quiet" onClick={() => setEditing(filter)}>
              Edit<span className="visually-hidden"> {filter.name}</span>
            </button>
            <button type="button" className="quiet" onClick={() => remove(filter)}>
              Remove<span className="visually-hidden"> {filter.name}</span>
            </button>
          </li>
        ))}
      </ol>
      <div>
        <button type="button" className="primary" onClick={() => setEditing('new')}>
          New filter
        </button>
      </div>
    </div>
  );
}
