/** Head of a report: its title and a button that loads it again. */
import { operatorTexts } from '../shared/texts/operator.ts';

const t = operatorTexts.page;
export function SectionHead({ title, onReload }: { title: string; onReload: () => void }) {
  return (
    <div className="row">
      <h2 className="grow">{title}</h2>
      <button type="button" onClick={onReload}>
        {t.askAgain}
      </button>
    </div>
  );
}
