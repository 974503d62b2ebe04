/** Options of an embedded board, as the query of the frame's address. Pure. */

export interface EmbedOptions {
  board: string | null;
  rows: number;
  theme: 'auto' | 'light' | 'dark';
}

export const ROWS = [3, 5, 10] as const;
const THEMES: readonly string[] = ['light', 'dark'];

export function readEmbed(search: string): EmbedOptions {
  const query = new URLSearchParams(search);
  const rows = ROWS.find((one) => String(one) === query.get('rows')) ?? 10;
  const theme = query.get('theme') ?? '';
  return {
    board: query.get('board'),
    rows,
    theme: THEMES.includes(theme) ? (theme as EmbedOptions['theme']) : 'auto',
  };
}

/** The shortest address: options with their default value are left out. */
export function toEmbedPath({ board, rows, theme }: EmbedOptions): string {
  const query = new URLSearchParams();
  if (board !== null) query.set('board', board);
  if (rows !== 10) query.set('rows', String(rows));
  if (theme !== 'auto') query.set('theme', theme);
  return `/_/embed/leaderboard${query.size > 0 ? `?${query}` : ''}`;
}
