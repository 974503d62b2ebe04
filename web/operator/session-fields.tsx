/** Further fields of a board, and those for plays: whether pages may send results, which pages, and the rules that results keep. */
import { operatorTexts } from '../shared/texts/operator.ts';
import type { Board, SessionRules } from './types.ts';

const t = operatorTexts.sessions;

const NO_RULES: SessionRules = {
  origins: [],
  least_seconds: 0,
  least_points: 0,
  most_points: null,
  most_points_per_second: null,
  judged: false,
};

const NUMBERS = ['least_seconds', 'least_points', 'most_points', 'most_points_per_second'] as const;
const isOptional = (name: (typeof NUMBERS)[number]): boolean => name.startsWith('most');

export function SessionFields({ board }: { board: Board }) {
  const rules = board.session_rules ?? NO_RULES;
  return (
    <details open={board.sessions === 'required'}>
      <summary>{t.title}</summary>
      <div className="stack">
        <p className="muted small">{t.about}</p>
        <label className="check">
          <input type="checkbox" name="sessions" defaultChecked={board.sessions === 'required'} />
          {t.required}
        </label>
        <label className="field">
          <span>{t.origins}</span>
          <textarea name="origins" rows={2} spellCheck={false} defaultValue={rules.origins.join('\n')} />
        </label>
        {NUMBERS.map((name) => (
          <label key={name} className="field">
            <span>{t[name]}</span>
            <input
              name={name}
              type="number"
              min={0}
              step={name === 'most_points_per_second' ? 'any' : 1}
              required={!isOptional(name)}
              defaultValue={rules[name] ?? ''}
            />
          </label>
        ))}
        <label className="check">
          <input type="checkbox" name="judged" defaultChecked={rules.judged} />
          {t.judged}
        </label>
      </div>
    </details>
  );
}

const LIMITS = ['seconds_between_posts', 'max_data_bytes', 'shards'] as const;
const LIMITS_MAX = { seconds_between_posts: 86_400, max_data_bytes: 1_024, shards: 256 };

export function FurtherFields({ board, isNew }: { board: Board; isNew: boolean }) {
  return (
    <>
      <label className="field">
        <span>{t.decimals}</span>
        <input name="decimals" type="number" min={0} max={6} required defaultValue={board.decimals ?? 0} />
      </label>
      {LIMITS.map((name) => (
        <label key={name} className="field">
          <span>{t[name]}</span>
          <input name={name} type="number" min={1} max={LIMITS_MAX[name]} defaultValue={board[name] ?? ''} />
        </label>
      ))}

      <label className="field">
        <span>{t.makes_boards}</span>
        <input
          name="makes_boards"
          maxLength={31}
          pattern="[a-z0-9][a-z0-9\-]*"
          defaultValue={board.makes_boards ?? ''}
        />
      </label>
      <label className="check">
        <input type="checkbox" name="find_by_name" defaultChecked={board.find_by_name ?? false} />
        {t.find_by_name}
      </label>
      <label className="check">
        <input type="checkbox" name="negative" defaultChecked={board.negative ?? false} disabled={!isNew} />
        {t.negative}
      </label>
    </>
  );
}

/** The members of a board that `FurtherFields` sets. Whether scores may be negative never changes. */
export function readFurther(form: FormData, board: Board) {
  const limitOf = (name: (typeof LIMITS)[number]) => Number(form.get(name) ?? '') || null;
  const shards = limitOf('shards');
  return {
    negative: board.board === '' ? form.has('negative') : (board.negative ?? false),
    find_by_name: form.has('find_by_name'),
    decimals: Number(form.get('decimals') ?? 0),
    seconds_between_posts: limitOf('seconds_between_posts'),
    max_data_bytes: limitOf('max_data_bytes'),
    makes_boards: String(form.get('makes_boards') ?? '').trim() || null,
    ...(shards === null ? {} : { shards }),
  };
}

/** The members of a board that `SessionFields` sets. */
export function readSessions(form: FormData, board: Board): Pick<Board, 'sessions' | 'session_rules'> {
  if (!form.has('origins')) return { sessions: board.sessions ?? 'off', session_rules: board.session_rules ?? null };
  if (!form.has('sessions')) return { sessions: 'off', session_rules: null };
  const numberOf = (name: string): number | null => {
    const text = String(form.get(name) ?? '');
    return text === '' ? null : Number(text);
  };
  return {
    sessions: 'required',
    session_rules: {
      origins: String(form.get('origins')).split(/\s+/).filter(Boolean),
      least_seconds: numberOf('least_seconds') ?? 0,
      least_points: numberOf('least_points') ?? 0,
      most_points: numberOf('most_points'),
      most_points_per_second: numberOf('most_points_per_second'),
      judged: form.has('judged'),
    },
  };
}
