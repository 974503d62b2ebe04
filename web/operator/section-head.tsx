/** The head of a report: what it is, and a way to ask again. */
export function SectionHead({ title, onAskAgain }: { title: string; onAskAgain: () => void }) {
  return (
    <div className="row">
      <h2 className="grow">{title}</h2>
      <button type="button" onClick={onAskAgain}>
        Ask again
      </button>
    </div>
  );
}
