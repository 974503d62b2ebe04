/** The lines of a filter: conditions and actions. */

import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import type { Folder } from '../model/api.ts';
import type { Action, Condition } from '../model/settings-api.ts';

const t = mailSettingsTexts.filters;

const FIELDS: Readonly<Record<Condition['field'], string>> = {
  from: t.from,
  to: t.toOrCc,
  subject: t.subject,
  body: t.text,
  header: t.headerField,
  size: t.size,
  has_attachment: t.hasAttachments,
};
const ACTIONS: Readonly<Record<Action['type'], string>> = {
  move: t.moveTo,
  label: t.label,
  mark_read: t.markAsRead,
  flag: t.flag,
  forward: t.forwardTo,
  trash: t.moveToTrash,
  stop: t.tryNoFurtherFilters,
};

export function blankCondition(field: Condition['field']): Condition {
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

export function blankAction(type: Action['type'], folders: readonly Folder[]): Action {
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
  ['contains', t.operators.contains],
  ['is', t.operators.is],
  ['begins_with', t.operators.beginsWith],
  ['ends_with', t.operators.endsWith],
] as const;

interface ConditionProps {
  condition: Condition;
  onChange: (condition: Condition) => void;
  onRemove: () => void;
}

export function ConditionLine({ condition, onChange, onRemove }: ConditionProps) {
  return (
    <div className="filter-line">
      <select
        aria-label={t.whatToLookAt}
        value={condition.field}
        onChange={(event) => onChange(blankCondition(event.target.value as Condition['field']))}
      >
        <Options options={Object.entries(FIELDS)} />
      </select>
      {condition.field === 'size' ? (
        <>
          <select
            aria-label={t.how}
            value={condition.operator}
            onChange={(event) => onChange({ ...condition, operator: event.target.value as 'larger' | 'smaller' })}
          >
            <Options
              options={[
                ['larger', t.operators.larger],
                ['smaller', t.operators.smaller],
              ]}
            />
          </select>
          <input
            type="number"
            min={0}
            aria-label={t.bytes}
            value={condition.bytes}
            onChange={(event) => onChange({ ...condition, bytes: event.target.valueAsNumber || 0 })}
          />
        </>
      ) : condition.field === 'has_attachment' ? (
        <span className="two-columns" />
      ) : (
        <>
          <select
            aria-label={t.how}
            value={condition.operator}
            onChange={(event) => onChange({ ...condition, operator: event.target.value } as Condition)}
          >
            <Options options={TEXT_OPERATORS} />
          </select>
          <span className="row">
            {condition.field === 'header' && (
              <input
                aria-label={t.nameHeaderField}
                value={condition.header_name}
                onChange={(event) => onChange({ ...condition, header_name: event.target.value })}
              />
            )}
            <input
              aria-label={t.textToLookFor}
              required
              maxLength={500}
              value={condition.value ?? ''}
              onChange={(event) => onChange({ ...condition, value: event.target.value } as Condition)}
            />
          </span>
        </>
      )}
      <button type="button" className="quiet icon" aria-label={t.removeThisCondition} onClick={onRemove}>
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

export function ActionLine({ action, folders, onChange, onRemove }: ActionProps) {
  const targets = folders.filter((folder) => !['all', 'flagged', 'drafts', 'sent'].includes(folder.role ?? ''));
  return (
    <div className="filter-line short">
      <select
        aria-label={t.whatToDo}
        value={action.type}
        onChange={(event) => onChange(blankAction(event.target.value as Action['type'], folders))}
      >
        <Options options={Object.entries(ACTIONS)} />
      </select>
      {action.type === 'move' && (
        <select
          aria-label={t.folder}
          value={action.folder_id}
          onChange={(event) => onChange({ ...action, folder_id: event.target.value })}
        >
          <Options options={targets.map((folder) => [folder.id, folder.name] as const)} />
        </select>
      )}
      {action.type === 'label' && (
        <input
          aria-label={t.label}
          required
          maxLength={100}
          value={action.label}
          onChange={(event) => onChange({ ...action, label: event.target.value })}
        />
      )}
      {action.type === 'forward' && (
        <input
          aria-label={t.address}
          type="email"
          required
          value={action.to}
          onChange={(event) => onChange({ ...action, to: event.target.value })}
        />
      )}
      {!['move', 'label', 'forward'].includes(action.type) && <span />}
      <button type="button" className="quiet icon" aria-label={t.removeThisAction} onClick={onRemove}>
        ✕
      </button>
    </div>
  );
}
