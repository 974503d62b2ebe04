/** Lists beside the folders that are saved searches: snoozed mail, and one list per label. */
import { toHash } from '../../shared/hash-route.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';

const { folders: t } = mailTexts;
const SNOOZED = 'is:snoozed';
const LABEL = /^label:"([^"]*)"$/;

const toSearch = (q: string) => ({ q, hash: toHash(['search'], { q }) });
export const snoozedView = () => toSearch(SNOOZED);
export const labelView = (label: string) => toSearch(`label:"${label.replaceAll('"', ' ')}"`);

export function titleOfSearch(q: string): string {
  return q === SNOOZED ? t.snoozed : (LABEL.exec(q)?.[1] ?? fill(t.search, { q }));
}
