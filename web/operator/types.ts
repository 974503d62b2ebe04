/** Types of the answers of the JSON APIs, as the operator page reads them. */

export interface User {
  user_id: string;
  user_name: string;
  name: string;
  email: string | null;
  created_at: string;
}

export interface Board {
  board: string;
  title: string;
  sort: 'desc' | 'asc';
  operator: 'sum' | 'best' | 'last';
  period: 'month' | 'week' | 'day' | 'none' | 'custom';
  /** Seasons of a chosen length, with the period `custom`. It never changes. */
  schedule?: object | null;
  public: boolean;
  /** API path of the board's logo. */
  logo?: string | null;
  max_points_per_post?: number;
  /** Null without a limit. */
  max_points_per_day?: number | null;
  /** Number of past seasons that are kept; null for all. */
  seasons_kept?: number | null;
  negative?: boolean;
  decimals?: number;
  seconds_between_posts?: number | null;
  max_data_bytes?: number | null;
  /** Whether everyone may search its players by name. */
  find_by_name?: boolean;
  /** Number of shards of its next seasons. */
  shards?: number;
  /** Beginning of the names of boards that a first post makes. */
  makes_boards?: string | null;
  sessions?: 'off' | 'required';
  session_rules?: SessionRules | null;
}

export interface SessionRules {
  origins: string[];
  least_seconds: number;
  least_points: number;
  most_points: number | null;
  most_points_per_second: number | null;
  judged: boolean;
}

export interface ResultInQuarantine {
  play_id: string;
  user_id: string;
  user_name: string | null;
  points: number;
  breach:
    | 'too_fast'
    | 'too_few_points'
    | 'too_many_points'
    | 'too_many_points_per_second'
    | 'unjudged'
    | 'suspected'
    | 'points_per_day_exceeded'
    | 'plays_overlap';
  seconds: number;
  received_at: string;
}

/** One hour of `GET /v1/metrics/history`. */
export interface Hour {
  since: string;
  requests: number;
  refused: number;
  failed: number;
  mail_in: number;
  mail_out: number;
  queue_age_seconds: number | null;
  database_bytes: number | null;
}

export interface History {
  is_available: boolean;
  /** Hours, oldest first. The last one is the current hour. */
  hours: Hour[];
  month: { since: string; operations: number; dollars: number };
}
