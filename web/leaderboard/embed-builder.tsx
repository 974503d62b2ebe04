/** Builds the HTML that embeds the board in another web site, with a preview. */
import { useState } from 'react';
import { boardTexts } from '../shared/texts/board.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { type EmbedOptions, ROWS, toEmbedPath } from './embed-options.ts';

const t = boardTexts.page;
/** Height in pixels of the embedded page above its rows. With it, the frame needs no scroll bar. */
const HEAD_HEIGHT = 120;
const ROW_HEIGHT = 49;
const SIZES = { width: [240, 800], height: [200, 1000] } as const;

interface EmbedBuilderProps {
  board: string | null;
  title: string;
}

const toAttribute = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

function SizeField({
  name,
  value,
  onChange,
}: {
  name: 'width' | 'height';
  value: number;
  onChange: (n: number) => void;
}) {
  const [min, max] = SIZES[name];
  return (
    <label className="field">
      <span>{t.embed[name]}</span>
      <input
        type="number"
        min={min}
        max={max}
        step={20}
        value={value}
        onChange={(event) => onChange(Math.min(max, Math.max(min, event.target.valueAsNumber || min)))}
      />
    </label>
  );
}

function Builder({ board, title }: EmbedBuilderProps) {
  const [rows, setRows] = useState<number>(10);
  const [theme, setTheme] = useState<EmbedOptions['theme']>('auto');
  const [width, setWidth] = useState(320);
  const [chosenHeight, setHeight] = useState<number | null>(null);
  const height = chosenHeight ?? Math.ceil((HEAD_HEIGHT + rows * ROW_HEIGHT) / 20) * 20;
  const path = toEmbedPath({ board, rows, theme });
  const code = `<iframe src="${toAttribute(location.origin + path)}" width="${width}" height="${height}" title="${toAttribute(title)}"></iframe>`;
  return (
    <div className="stack">
      <div className="embed-fields">
        <label className="field">
          <span>{t.embed.rows}</span>
          <select value={rows} onChange={(event) => setRows(Number(event.target.value))}>
            {ROWS.map((count) => (
              <option key={count}>{count}</option>
            ))}
          </select>
        </label>
        <label className="field">
          <span>{t.embed.theme}</span>
          <select value={theme} onChange={(event) => setTheme(event.target.value as EmbedOptions['theme'])}>
            {Object.entries(t.embed.themes).map(([name, text]) => (
              <option key={name} value={name}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <SizeField name="width" value={width} onChange={setWidth} />
        <SizeField name="height" value={height} onChange={setHeight} />
      </div>
      <iframe className="embed-preview" key={path} src={path} width={width} height={height} title={t.embed.preview} />
      <pre className="embed-code">{code}</pre>
      <div>
        <button
          type="button"
          className="primary"
          onClick={() => void navigator.clipboard.writeText(code).then(() => showToast(t.copied), showError)}
        >
          {t.copy}
        </button>
      </div>
    </div>
  );
}

export function EmbedBuilder(props: EmbedBuilderProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="card small" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t.embed.title}</summary>
      {isOpen && <Builder {...props} />}
    </details>
  );
}
