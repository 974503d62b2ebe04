/** Shows a JSON report in readable form: names as words, formatted numbers, lists as lists. */
import { formatBytes, formatCount, formatDateTime } from '../shared/format.ts';
import { operatorTexts } from '../shared/texts/operator.ts';

const t = operatorTexts.page;

const toWords = (name: string): string => {
  const text = name.replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
};

function describe(name: string, value: unknown): string {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return /bytes$/.test(name) ? formatBytes(value) : formatCount(value);
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)) return formatDateTime(value);
  return String(value);
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

export function Facts({ value }: { value: Record<string, unknown> | unknown[] }) {
  return (
    // The names are those of the API, in English.
    <dl className="report" lang="en">
      {Object.entries(value).map(([name, member]) => (
        <div key={name}>
          <dt>{Array.isArray(value) ? `${Number(name) + 1}.` : toWords(name)}</dt>
          <dd>
            {isObject(member) ? (
              Object.keys(member).length === 0 ? (
                t.none
              ) : (
                <Facts value={member} />
              )
            ) : (
              describe(name, member)
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}
