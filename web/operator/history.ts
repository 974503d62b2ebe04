/** `GET /v1/metrics/history` */
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
  /** Oldest first. The last one is not over. */
  hours: Hour[];
  month: { since: string; operations: number; dollars: number };
}
