/** The Worker under the rules of the platform. `npm test` builds it beside the real one; the system tests run it. */
import * as real from '../../../workers/index.ts';
import { freezeClock, makeRules, PRODUCTION, type RuledInvocation } from './rules.ts';
import { wrapGlobals } from './wrap-bindings.ts';
import { Entry } from './wrap-entry.ts';

const entry = new Entry<RuledInvocation>((current) => {
  freezeClock(current);
  return makeRules(PRODUCTION, current);
});
wrapGlobals(entry.intercept);

export const LeaderboardSeason = entry.wrapClass('LeaderboardSeason', real.LeaderboardSeason, true);
export const LeaderboardShard = entry.wrapClass('LeaderboardShard', real.LeaderboardShard, true);
export const LeaderboardView = entry.wrapClass('LeaderboardView', real.LeaderboardView, true);
export const Mailbox = entry.wrapClass('Mailbox', real.Mailbox, true);
export const MailboxJobs = entry.wrapClass('MailboxJobs', real.MailboxJobs, false);
export default entry.wrapHandlers(real.default);
