/** Health of every store. */
import { useLoaded } from '../shared/use-loaded.ts';
import { Facts } from './facts.tsx';
import { SectionHead } from './section-head.tsx';

/** If a store does not answer, the status is 503, with the same report. */
const loadHealth = async (): Promise<Record<string, unknown>> => (await fetch('/v1/health')).json();

export function Health() {
  const { value, error, reload } = useLoaded(loadHealth, []);
  const isWell = value?.status === 'ok';
  return (
    <section className="stack" aria-label="Health">
      <SectionHead title="Health" onReload={reload} />
      {error && <p className="error-box">{error}</p>}
      {value && (
        <div className="card stack">
          <p role="status">
            <span className={isWell ? 'badge good' : 'badge bad'}>{isWell ? 'Every store answers' : 'Not well'}</span>
          </p>
          <Facts value={value} />
        </div>
      )}
    </section>
  );
}
