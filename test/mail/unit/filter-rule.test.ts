import { describe, expect, it } from 'vitest';
import {
  decideFilters,
  doesRuleMatch,
  type FilterAction,
  type FilterCondition,
  type FilterRule,
  type MessageFacts,
  mayAnswerAutomatically,
} from '../../../workers/mail/domain/filter-rule.ts';

const facts = (parts: Partial<MessageFacts> = {}): MessageFacts => ({
  from: [{ name: 'Ada Lovelace', email: 'ada@far.test' }],
  to: [
    { name: 'Me', email: 'me@example.test' },
    { name: '', email: 'copy@example.test' },
  ],
  subject: 'Ré: The (.*) Plan',
  body: 'straße\n東京へ行く\n',
  headers: [
    { name: 'X-Kind', value: 'letter' },
    { name: 'x-kind', value: 'second' },
    { name: 'X-Empty', value: '' },
  ],
  sizeBytes: 1_000,
  hasAttachment: false,
  ...parts,
});
const rule = (conditions: readonly FilterCondition[], actions: readonly FilterAction[] = []): FilterRule => ({
  name: 'a rule',
  enabled: true,
  match: 'all',
  conditions,
  actions,
});
const holds = (condition: FilterCondition) => doesRuleMatch(rule([condition]), facts());
const header = (
  operator: 'contains' | 'is' | 'begins_with' | 'ends_with' | 'exists',
  header_name: string,
  value?: string,
) => ({ field: 'header', header_name, operator, value }) as const;

describe('a condition', () => {
  it('matches text literally, ignoring case and accents', () => {
    for (const [field, operator, value, isMet] of [
      ['subject', 'contains', '(.*)', true],
      ['subject', 'contains', '(.+)', false],
      ['subject', 'is', 're: the (.*) plan', true],
      ['subject', 'is', 're: the (.*)', false],
      ['subject', 'begins_with', 'RE:', true],
      ['subject', 'begins_with', 'the', false],
      ['subject', 'ends_with', 'plan', true],
      ['subject', 'ends_with', '.*', false],
      ['body', 'contains', 'STRASSE', true],
      ['body', 'contains', '京へ', true],
      ['body', 'contains', 'x'.repeat(500), false],
      ['from', 'is', 'ada@far.test', true],
      ['from', 'is', 'ADA LOVELACE', true],
      ['from', 'is', 'Ada Lovelace <ada@far.test>', true],
      ['from', 'ends_with', '@far.test', true],
      ['from', 'ends_with', 'far.test.evil', false],
      ['from', 'is', 'ada', false],
      ['to', 'is', 'copy@example.test', true],
    ] as const) {
      expect([field, operator, value, holds({ field, operator, value })]).toEqual([field, operator, value, isMet]);
      expect(holds({ field, operator, value, negate: true })).toBe(!isMet);
    }
  });

  it('with an empty value is never met, because it would match all mail', () => {
    for (const value of [' ', '\u0301', '\n']) {
      for (const operator of ['contains', 'is', 'begins_with', 'ends_with'] as const)
        expect(holds({ field: 'subject', operator, value })).toBe(false);
    }
    expect(holds(header('contains', 'x-kind'))).toBe(false);
    expect(holds(header('is', 'x-empty', ''))).toBe(false);
  });

  it('checks every header of its name', () => {
    expect(holds(header('is', 'X-KIND', 'second'))).toBe(true);
    expect(holds(header('exists', 'x-empty'))).toBe(true);
    expect(holds(header('exists', 'x-other'))).toBe(false);
    expect(holds({ ...header('exists', 'x-other'), negate: true })).toBe(true);
  });

  it('compares sizes to the byte', () => {
    const size = (operator: 'larger' | 'smaller', bytes: number) => holds({ field: 'size', operator, bytes });
    expect([size('larger', 999), size('larger', 1_000), size('smaller', 1_001), size('smaller', 1_000)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });
});

describe('rules', () => {
  const met: FilterCondition = { field: 'has_attachment', negate: true };
  it('apply in order, the last move wins, and stop ends them after its own actions', () => {
    const decision = decideFilters(
      [
        rule(
          [met],
          [
            { type: 'move', folder_id: 'one' },
            { type: 'label', label: 'a' },
          ],
        ),
        { ...rule([met], [{ type: 'trash' }]), enabled: false },
        rule([{ field: 'has_attachment' }], [{ type: 'stop' }]),
        rule([met], [{ type: 'stop' }, { type: 'move', folder_id: 'two' }, { type: 'forward', to: 'A@b.test' }]),
        rule([], [{ type: 'flag' }, { type: 'trash' }]),
      ],
      facts(),
    );
    expect(decision).toEqual({
      folder: 'two',
      isRead: false,
      isFlagged: false,
      labels: ['a'],
      forwardTo: ['a@b.test'],
    });
  });

  it('with match any need one condition, with match all need every one, and without conditions always hold', () => {
    const not: FilterCondition = { field: 'has_attachment' };
    const any = (conditions: readonly FilterCondition[]) =>
      doesRuleMatch({ ...rule(conditions), match: 'any' }, facts());
    expect([any([not, met]), any([not]), any([])]).toEqual([true, false, true]);
    expect([doesRuleMatch(rule([not, met]), facts()), doesRuleMatch(rule([]), facts())]).toEqual([false, true]);
  });
});

describe('the vacation reply', () => {
  const own = new Set(['me@example.test']);
  const answers = (envelopeFrom: string, headers: MessageFacts['headers'] = [], to = facts().to) =>
    mayAnswerAutomatically(envelopeFrom, own, facts({ headers, to }));

  it('answers a sender who wrote to an address of the user, tagged or in Cc', () => {
    expect(answers('ada@far.test')).toBe(true);
    expect(answers('ada@far.test', [], [{ name: '', email: 'Me+tag@Example.test' }])).toBe(true);
    expect(answers('ada@far.test', [{ name: 'Auto-Submitted', value: 'no' }])).toBe(true);
    expect(answers('ada@far.test', [], [{ name: '', email: 'all@example.test' }])).toBe(false);
  });

  it('does not answer machines, lists, bulk mail, reports, forwarders or the user', () => {
    for (const sender of [
      '',
      'Me@example.test',
      'MAILER-DAEMON@far.test',
      'no-reply@far.test',
      'noreply@far.test',
      'do-not-reply@far.test',
      'owner-list@far.test',
      'list-request@far.test',
      'list-bounces@far.test',
      'bounces+me=example.test@far.test',
      'somebody+srs0=a=b=c@far.test',
    ])
      expect([sender, answers(sender)]).toEqual([sender, false]);
    for (const [name, value] of [
      ['auto-submitted', 'auto-replied; owner-email="x"'],
      ['Auto-Submitted', ' AUTO-GENERATED'],
      ['Precedence', 'Bulk'],
      ['precedence', 'list'],
      ['Precedence', 'junk'],
      ['List-Id', '<l.far.test>'],
      ['LIST-UNSUBSCRIBE', '<mailto:x@far.test>'],
      ['X-Auto-Response-Suppress', 'DR, OOF'],
    ] as const)
      expect([name, value, answers('ada@far.test', [{ name, value }])]).toEqual([name, value, false]);
  });
});
