/** Form for one filter, with a preview of the mail it matches. */
import { useDeferredValue, useEffect, useState } from 'react';
import { callJson, describeError } from '../../shared/api.ts';
import { FormButtons } from '../../shared/form-buttons.tsx';
import { formatWhen } from '../../shared/format.ts';
import { useStore } from '../../shared/store.ts';
import { fill, plural } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { showToast } from '../../shared/toasts.tsx';
import { UnsavedNote, useUnsaved } from '../../shared/unsaved.tsx';
import { describeAddress } from '../model/addresses.ts';
import { type Summary, searchMessages } from '../model/api.ts';
import { mailbox } from '../model/mailbox.ts';
import { session } from '../model/session.ts';
import { type Action, type Condition, type Filter, type FilterRequest, filterPath } from '../model/settings-api.ts';
import { ActionLine, blankAction, blankCondition, ConditionLine } from './filter-lines.tsx';
import { toSearchQuery } from './filter-preview.ts';

const t = mailSettingsTexts.filters;

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
    <section className="card small" aria-label={t.whatWouldCatch} aria-live="polite">
      <h2>{found.data.length === 0 ? t.caughtNothing : t.caught}</h2>
      <ul className="plain-list">
        {found.data.map((message) => (
          <li key={message.id} className="row">
            <span className="ellipsis">{describeAddress(message.from)}</span>
            <span className="ellipsis grow" dir="auto">
              {message.subject}
            </span>
            <time className="muted">{formatWhen(message.received_at)}</time>
          </li>
        ))}
        {found.next_cursor && <li className="muted">{t.andMore}</li>}
      </ul>
    </section>
  );
}

type Rule = Pick<FilterRequest, 'name' | 'conditions' | 'actions'> & { match: 'all' | 'any' };

/** Name under which the values of a form are kept until they are saved. */
export const nameOfForm = (filter: Filter | null, from: string | null): string =>
  `${session.get().profile?.user_id}.filter.${filter?.id ?? (from ? `from ${from}` : 'new')}`;

interface Props {
  filter: Filter | null;
  /** Sender whose mail a new filter matches. */
  from?: string | null;
  onDone: () => void;
}

const fromSender = (email: string): Condition => ({ field: 'from', operator: 'is', value: email });

const replace = <T,>(list: T[], index: number, value: T | null): T[] =>
  list.flatMap((one, at) => (at === index ? (value === null ? [] : [value]) : [one]));

/** The rule of the form. What was not saved is there again. */
function useRule(filter: Filter | null, from: string | null) {
  const folders = useStore(mailbox, (state) => state.folders);
  const unsaved = useUnsaved<Rule>(nameOfForm(filter, from), {
    name: filter?.name ?? from ?? '',
    match: filter?.match ?? 'all',
    conditions: filter?.conditions ?? [from ? fromSender(from) : blankCondition('from')],
    actions: filter?.actions ?? [blankAction('move', folders)],
  });
  const set = (part: Partial<Rule>) => unsaved.set({ ...unsaved.value, ...part });
  const setConditions = (next: Condition[]) => set({ conditions: next });
  const setActions = (next: Action[]) => set({ actions: next });
  return { unsaved, set, setConditions, setActions };
}

export function FilterForm({ filter, from = null, onDone }: Props) {
  const folders = useStore(mailbox, (state) => state.folders);
  const { unsaved, set, setConditions, setActions } = useRule(filter, from);
  const { name, match, conditions, actions } = unsaved.value;
  const [error, setError] = useState<string | null>(null);
  const end = () => {
    unsaved.forget();
    onDone();
  };
  const save = (isApplying: boolean) => {
    const body: FilterRequest = { name: name.trim(), enabled: filter?.enabled ?? true, match, conditions, actions };
    const saved = filter
      ? callJson<Filter>(filterPath(filter), { method: 'PUT', body })
      : callJson<Filter>('/v1/filters', { body });
    saved
      .then(async (made) => {
        if (isApplying) {
          const { changed } = await callJson<{ changed: number }>(`${filterPath(made)}/apply`, { method: 'POST' });
          showToast(fill(t.applied, { changed: plural(mailSettingsTexts.counts.messages, changed) }));
        } else showToast(t.filterSaved);
        end();
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
        <span>{t.name}</span>
        <input required maxLength={100} value={name} onChange={(event) => set({ name: event.target.value })} />
      </label>
      <label className="row">
        {t.when}
        <select value={match} onChange={(event) => set({ match: event.target.value as 'all' | 'any' })}>
          <option value="all">{t.all}</option>
          <option value="any">{t.any}</option>
        </select>
      </label>
      {conditions.map((condition, index) => (
        <ConditionLine
          // biome-ignore lint/suspicious/noArrayIndexKey: a line has no id except its position
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
          {t.addCondition}
        </button>
      </div>
      <Preview query={toSearchQuery(conditions, match)} />
      {conditions.some((condition) => condition.field === 'header') && (
        <p className="muted small">{t.headersNotSearched}</p>
      )}
      <h2>{t.thenDo}</h2>
      {actions.map((action, index) => (
        <ActionLine
          // biome-ignore lint/suspicious/noArrayIndexKey: a line has no id except its position
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
          {t.addAction}
        </button>
      </div>
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
      {unsaved.isKept && <UnsavedNote onDiscard={unsaved.forget} />}
      <FormButtons onCancel={end}>
        <button type="button" onClick={() => save(true)}>
          {t.saveAndApply}
        </button>
      </FormButtons>
    </form>
  );
}
