/** Texts of the operator page about results that pages send. */
export const operatorPlays = {
  sessions: {
    title: 'Results from pages',
    about:
      'Scores come from game servers. A game without a server may let its page send results. They can be faked, so give them rules: what breaks one waits for you.',
    required: 'Pages may send results',
    origins: 'Origins of these pages, one per line (https://game.example.com)',
    least_seconds: 'Seconds that a play takes at least',
    least_points: 'Fewest points of a result',
    most_points: 'Most points of a result',
    most_points_per_second: 'Most points for each second',
    judged: 'Ask the webhook of the board about each result',
  },
  quarantine: {
    title: 'Results in quarantine',
    about: 'These results broke a rule of their board. They count only if you accept them.',
    board: 'Board',
    none: 'No result waits.',
    facts: '{points} points in {seconds} seconds',
    accept: 'Accept',
    refuse: 'Refuse',
    ban: 'Ban',
    ask: '{decision} {name}: why? The audit log keeps the reason.',
    decided: 'Decided.',
    breaches: {
      too_fast: 'Too fast',
      too_few_points: 'Too few points',
      too_many_points: 'Too many points',
      too_many_points_per_second: 'Too many points for the time',
      unjudged: 'The webhook gave no verdict',
      suspected: 'The webhook suspects it',
      points_per_day_exceeded: 'Too many points in a day',
      plays_overlap: 'Two plays at the same time',
    },
  },
};
