/** Head of a report: its title and a button that loads it again. */
export function SectionHead({ title, onReload }: { title: string; onReload: () => void }) {
  return (
    <div className="row">
      <h2 className="grow">{title}</h2>
      <button type="button" onClick={onReload}>
        Ask again
      </button>
    </div>
  );
}
