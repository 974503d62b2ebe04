/**
 * Types of Tessera's JSON APIs, made from /v1/openapi.json by `npm run generate`. Do not edit.
 *
 * Every schema is a type. Every operation is a namespace inside `V1` with its parameters, its body and its answer.
 */
export interface Health {
  status: "ok";
  version: string;
  /** 12 hexadecimal digits, or `unknown` */
  commit: string;
  /** Cloudflare's id of the Worker's version; `local` on a local server */
  version_id: string;
  warnings: {
    name: string;
    message: string;
  }[];
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  request_id: string;
  errors?: {
    path: string;
    message: string;
  }[];
  challenges?: ("turnstile" | "proof_of_work" | "recovery_code_mail")[];
}

export interface Unavailable {
  status: "unavailable" | "misconfigured";
  version: string;
  /** 12 hexadecimal digits, or `unknown` */
  commit: string;
  /** Cloudflare's id of the Worker's version; `local` on a local server */
  version_id: string;
  unavailable: string[];
  misconfigured: {
    name: string;
    message: string;
  }[];
  warnings: {
    name: string;
    message: string;
  }[];
}

export interface User {
  user_id: string;
  user_name: string;
  name: string;
  email: string | null;
  created_at: string;
}

export type NewAccessKey = AccessKey & {
  secret_access_key: string;
};

export interface AccessKey {
  access_key_id: string;
  user_id: string;
  created_at: string;
  expires_at: string | null;
  /** Precise to an hour. Null before the first use. */
  last_used_at: string | null;
}

export interface TemporaryKey {
  access_key_id: string;
  secret_access_key: string;
  /** Sent with each request as `x-amz-security-token`. */
  session_token: string;
  expires_at: string;
}

export interface PolicyDocument {
  Version: "2012-10-17" | "2008-10-17";
  Id?: string;
  /** @minItems 1 */
  Statement: {
    Sid?: string;
    Effect: "Allow" | "Deny";
    Action?: string | string[];
    NotAction?: string | string[];
    Resource?: string | string[];
    NotResource?: string | string[];
    Condition?: Record<
      string,
      Record<string, string | boolean | number | string[]>
    >;
  }[];
}

export type NewToken = Token & {
  token: string;
};

export interface Token {
  token_id: string;
  name: string;
  user_id: string | null;
  scopes: (
    | "scores:write"
    | "boards:create"
    | "objects:read"
    | "objects:write"
    | "mail"
    | "mail:read"
    | "mail:draft"
    | "mail:send"
    | "mail:codes"
    | "inbound"
    | "bridge"
    | "admin"
    | string
  )[];
  created_at: string;
  expires_at: string | null;
  /** Precise to an hour. Null before the first use. */
  last_used_at: string | null;
  /** Id of the operator who made it, with whom it ends. Null for root, and for the own token of a user */
  made_by: string | null;
}

export interface ResealReport {
  kind: string;
  current: number;
  resealed: number;
  unreadable: string[];
  complete: boolean;
}

export interface Operator {
  operator_id: string;
  login: string;
  name: string;
  role: "admin" | "support" | "read";
  created_at: string;
}

export interface PasskeyAssertion {
  /**
   * @minLength 1
   * @maxLength 1400
   * @pattern ^[\w-]*$
   */
  id: string;
  /**
   * @minLength 1
   * @maxLength 1400
   * @pattern ^[\w-]*$
   */
  rawId: string;
  type: "public-key";
  authenticatorAttachment?: "platform" | "cross-platform";
  /** @default {} */
  clientExtensionResults?: Record<string, any>;
  response: {
    /**
     * @maxLength 4000
     * @pattern ^[\w-]*$
     */
    clientDataJSON: string;
    /**
     * @maxLength 4000
     * @pattern ^[\w-]*$
     */
    authenticatorData: string;
    /**
     * @maxLength 4000
     * @pattern ^[\w-]*$
     */
    signature: string;
    /**
     * @maxLength 100
     * @pattern ^[\w-]*$
     */
    userHandle?: string;
  };
}

export interface PasskeyRequestOptions {
  challenge: string;
  rpId: string;
  timeout: number;
  userVerification: string;
  [key: string]: any;
}

export interface Passkey {
  passkey_id: string;
  name: string;
  created_at: string;
  last_used_at: string | null;
}

export interface PasskeyCreationOptions {
  rp: {
    id: string;
    name: string;
  };
  user: {
    id: string;
    name: string;
    displayName: string;
  };
  challenge: string;
  pubKeyCredParams: {
    type: "public-key";
    alg: number;
  }[];
  timeout: number;
  excludeCredentials: {
    id: string;
    type: "public-key";
    transports?: string[];
  }[];
  authenticatorSelection: {
    residentKey: string;
    userVerification: string;
    [key: string]: any;
  };
  attestation: string;
  [key: string]: any;
}

export interface PasskeyRegistration {
  /**
   * @minLength 1
   * @maxLength 1400
   * @pattern ^[\w-]*$
   */
  id: string;
  /**
   * @minLength 1
   * @maxLength 1400
   * @pattern ^[\w-]*$
   */
  rawId: string;
  type: "public-key";
  authenticatorAttachment?: "platform" | "cross-platform";
  /** @default {} */
  clientExtensionResults?: Record<string, any>;
  response: {
    /**
     * @maxLength 4000
     * @pattern ^[\w-]*$
     */
    clientDataJSON: string;
    /**
     * @maxLength 16000
     * @pattern ^[\w-]*$
     */
    attestationObject: string;
    /**
     * @maxLength 8000
     * @pattern ^[\w-]*$
     */
    authenticatorData?: string;
    /** @maxItems 10 */
    transports?: (
      | "ble"
      | "cable"
      | "hybrid"
      | "internal"
      | "nfc"
      | "smart-card"
      | "usb"
    )[];
    publicKeyAlgorithm?: number;
    /**
     * @maxLength 4000
     * @pattern ^[\w-]*$
     */
    publicKey?: string;
  };
}

export type NewOperator = Operator & {
  totp: {
    secret: string;
    otpauth_url: string;
  };
};

export type ChangedOperator = Operator & {
  totp?: {
    secret: string;
    otpauth_url: string;
  };
};

export interface Suspension {
  user_id: string;
  suspended_at: string | null;
}

export interface SignIn {
  sign_in_id: string;
  issuer: string;
  subject: string;
  created_at: string;
  last_used_at: string | null;
  /** When the provider last confirmed the account */
  confirmed_at: string | null;
}

export interface AuditEntry {
  id: string;
  /** @format date-time */
  at: string;
  action: string;
  actor: {
    kind: "root" | "token" | "operator" | "user" | "system";
    /** The id of the token, operator or user; else the kind */
    id: string;
  };
  target: {
    type:
      | "access_key"
      | "audit"
      | "board"
      | "bucket"
      | "collector"
      | "domain"
      | "invite"
      | "message"
      | "operator"
      | "player"
      | "season"
      | "service"
      | "share_link"
      | "suppression"
      | "token"
      | "user";
    id: string;
  };
  /** The /24 (IPv4) or /48 (IPv6) of the client */
  network: string | null;
  /** SHA-256 of the User-Agent, first 16 digits */
  user_agent_digest: string | null;
  request_id: string | null;
  details: Record<string, string | number | boolean>;
}

export interface Collector {
  collector: "mail" | "storage" | "leaderboard" | "directory" | "s3-location";
  /** For the collector `directory`: number n of the `DIRECTORY_n` that has its row. Otherwise 0 */
  database: number;
  round: number;
  /** Objects that this round has scanned so far */
  scanned: number;
  last_round_finished_at: string | null;
  /** Found without an owner, and not deleted yet */
  orphans_waiting: number;
  /** Deleted in the first location only */
  orphans_in_other_locations: number;
  /** Why it stopped. It stays until a round ends without one, or until it is acknowledged */
  alarm: {
    reason: string;
    since: string;
    scanned: number;
    found: number;
  };
}

export interface CollectorAcknowledgement {
  /**
   * Lets the next round remove as many objects, or publish with as many players fewer, as the alarm counted
   * @default false
   */
  remove?: boolean;
  /**
   * For the collector `directory`: number n of the `DIRECTORY_n` that has its row
   * @min 0
   * @default 0
   */
  database?: number;
  /**
   * The stores that are bound now are the right ones: they become the owners of the bytes
   * @default false
   */
  take_over?: boolean;
}

export interface LocationRefillReport {
  scanned: number;
  copied: number;
  copied_bytes: number;
  /** Objects that do not match their checksum; the log names them */
  failed: number;
  /** Null when every location has every object */
  next_cursor: string | null;
}

export interface LocationRefill {
  /**
   * `next_cursor` of the answer before
   * @maxLength 1100
   * @default ""
   */
  cursor?: string;
  /**
   * @min 1
   * @max 300
   * @default 60
   */
  max_seconds?: number;
}

export interface S3LocationCopyReport {
  /** The S3 location has everything that is older than this */
  through: string | null;
  scanned: number;
  copied: number;
  copied_bytes: number;
  failed: number;
  /** False if the pass has to go on, or another run has it */
  finished: boolean;
}

export interface S3LocationCopy {
  /**
   * @min 1
   * @max 300
   * @default 60
   */
  max_seconds?: number;
}

export interface S3LocationCheckReport {
  scanned: number;
  /** Objects of R2, older than the last whole pass, that are missing or have another size */
  missing: number;
  /** Objects that R2 lacks and whose deletion is not recorded yet */
  unrecorded: number;
  /** Objects that do not match their MD5. Only with `read` */
  damaged: number;
  read_bytes: number;
  removed: number;
  examples: string[];
  next_cursor: string | null;
}

export interface S3LocationCheck {
  /**
   * `next_cursor` of the answer before
   * @maxLength 1100
   * @default ""
   */
  cursor?: string;
  /**
   * Reads every object again, and compares it with its MD5
   * @default false
   */
  read?: boolean;
  /**
   * Removes damaged copies of objects that R2 has. The next pass copies them again. Needs `read`
   * @default false
   */
  remove_damaged?: boolean;
  /**
   * @min 1
   * @max 300
   * @default 60
   */
  max_seconds?: number;
}

export interface RescueReport {
  scanned: number;
  copied: number;
  copied_bytes: number;
  /** Objects that did not arrive or do not match their MD5; the log names them */
  failed: number;
  /** Objects that had been deleted, or are later than `until` */
  left_out: number;
  next_cursor: string | null;
}

export interface Rescue {
  /**
   * `next_cursor` of the answer before
   * @maxLength 1100
   * @default ""
   */
  cursor?: string;
  /**
   * Copies only keys before this one, so that several ranges can be copied at a time
   * @maxLength 1100
   * @default ""
   */
  before?: string;
  /**
   * Rescues the state at this time. Default: the newest
   * @format date-time
   */
  until?: string;
  /**
   * @min 1
   * @max 300
   * @default 60
   */
  max_seconds?: number;
}

export interface RescueEnd {
  /**
   * This installation writes to the S3 location from now on. Only if the one that wrote it is gone
   * @default false
   */
  take_over?: boolean;
}

export interface MetricsHistory {
  /** False if ANALYTICS_TOKEN is not set, or the counters cannot be read */
  is_available: boolean;
  hours: {
    /** @format date-time */
    since: string;
    /** @min 0 */
    requests: number;
    /**
     * Requests answered with 4xx
     * @min 0
     */
    refused: number;
    /**
     * Requests answered with 5xx
     * @min 0
     */
    failed: number;
    /** @min 0 */
    mail_in: number;
    /** @min 0 */
    mail_out: number;
    /** Mean age of the oldest waiting recipient */
    queue_age_seconds: number | null;
    /** Mean size of all D1 databases together */
    database_bytes: number | null;
  }[];
  month: {
    /** @format date-time */
    since: string;
    /** @min 0 */
    operations: number;
    /** Estimate without stored bytes and without what the plan includes */
    dollars: number;
  };
}

export interface StorageJob {
  job_id: string;
  kind: "empty" | "delete" | "restore" | "copy" | "count" | "pull";
  /** Null if the bucket was deleted */
  bucket: string | null;
  prefix: string;
  at: string | null;
  /** Where the copies go. Null for other kinds of jobs, and for a caller who neither started the job nor owns the target */
  target: {
    bucket: string | null;
    prefix: string;
  };
  /** Source of a pull. Null for other kinds of jobs, and for a caller who did not start the job */
  source: {
    endpoint: string;
    bucket: string;
    prefix: string;
  };
  dry_run: boolean;
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  /** Reason of a job that failed: `credential_revoked` (the key, token or session that started it ended), `user_suspended`, `access_denied`, `no_such_bucket`, `taken_down`, `quota_exceeded`, `directory_rebuilt`. Of a pull: `source_denied`, `source_not_found`, `source_refused`, `source_unavailable`, `secret_unreadable` */
  error: string | null;
  created_at: string;
  ended_at: string | null;
  /** The name at which it continues, in the order of names */
  position: string | null;
  counts: {
    examined: number;
    objects_deleted: number;
    versions_removed: number;
    uploads_aborted: number;
    objects_restored: number;
    objects_copied: number;
    bytes: number;
    unchanged: number;
    versions_pulled: number;
    markers_pulled: number;
    pulled_in_part: number;
    locked: number;
    denied: number;
    skipped: number;
    objects: number;
    versions: number;
    uploads: number;
  };
  /** Of a dry run: the first 20 changes */
  changes: {
    key: string;
    action: string;
    version_id?: string;
  }[];
  /** The first 20 objects that stay as they are, and why. Of a pull: the first 100 differences */
  obstacles: {
    key: string;
    reason: string;
    version_id?: string;
  }[];
}

export interface NewShareLink {
  link_id: string;
  bucket: string;
  key: string | null;
  prefix: string | null;
  version_id: string | null;
  has_password: boolean;
  created_at: string;
  expires_at: string;
  /** Approximate beyond a hundred */
  openings: number;
  last_opened_at: string | null;
  /** Shown only here */
  url: string;
}

export interface ShareLink {
  link_id: string;
  bucket: string;
  key: string | null;
  prefix: string | null;
  version_id: string | null;
  has_password: boolean;
  created_at: string;
  expires_at: string;
  /** Approximate beyond a hundred */
  openings: number;
  last_opened_at: string | null;
}

export interface SharedObjects {
  data: {
    key: string;
    size: number;
    last_modified: string;
  }[];
  next_cursor: string | null;
}

export interface StorageStats {
  totals: {
    objects: number;
    versions: number;
    deletion_markers: number;
    bytes_live: number;
    bytes_inline: number;
    inline_objects: number;
    bytes_packed: number;
    packed_objects: number;
    volumes: number;
    blobs: number;
    bytes_blobs: number;
    bytes_garbage: number;
    blobs_garbage: number;
    blobs_lost: number;
    copies_missing: number;
    uploads_open: number;
    parts: number;
    database_bytes: number;
  };
  shards: {
    shard: number;
    objects: number;
    versions: number;
    deletion_markers: number;
    bytes_live: number;
    bytes_inline: number;
    inline_objects: number;
    bytes_packed: number;
    packed_objects: number;
    volumes: number;
    blobs: number;
    bytes_blobs: number;
    bytes_garbage: number;
    blobs_garbage: number;
    blobs_lost: number;
    copies_missing: number;
    uploads_open: number;
    parts: number;
    database_bytes: number;
    as_of: string | null;
    scrub: {
      started_at: string | null;
      finished_at: string | null;
    };
  }[];
  locations: {
    location: string;
    blobs: number;
    bytes: number;
    missing: number;
  }[];
}

export interface StorageGcReport {
  uploads_abandoned: number;
  uploads_cleaned: number;
  parts_removed: number;
  blobs_removed: number;
  bytes_removed: number;
  volumes_compacted: number;
  compacted_live_bytes: number;
  orphans_found: number;
  orphans_removed: number;
  objects_scanned: number;
  volumes_packed: number;
  objects_packed: number;
  bytes_packed: number;
  packing_overhead_bytes: number;
  finished: boolean;
}

export interface StorageScrubReport {
  blobs: number;
  copies: number;
  bytes: number;
  bad_copies: number;
  missing_copies: number;
  unreachable_copies: number;
  repaired_copies: number;
  lost_blobs: number;
  inline_objects: number;
  inline_damaged: number;
  packed_objects: number;
  packed_damaged: number;
  /** Damaged small objects that were repaired from a journal page or a snapshot */
  repaired_objects: number;
  lost_versions: {
    bucket: string;
    name: string;
    object_id: string;
  }[];
  finished: boolean;
}

export interface StorageFsckReport {
  versions_checked: number;
  blobs_checked: number;
  objects_checked: number;
  versions_incomplete: number;
  /** Small objects without an intact copy, as reads, packing and scrub found them */
  versions_damaged: number;
  extents_dangling: number;
  extents_without_blob: number;
  blobs_unreferenced: number;
  quotas_wrong: number;
  copies_missing: number;
  /** Missing copies that the background work is going to make */
  copies_due: number;
  copies_of_wrong_size: number;
  orphans: number;
  orphan_bytes: number;
  foreign_objects: number;
  repaired: number;
  dry_run: boolean;
  examples: string[];
  finished: boolean;
}

export interface TakeDown {
  taken_down: boolean;
}

export interface StorageUsage {
  bytes: number;
  objects: number;
  versions: number;
  uploads: number;
}

export interface StorageQuota {
  /**
   * Of all versions and of the parts of open uploads; null: no limit
   * @min 0
   * @max 9007199254740991
   */
  bytes: number | null;
  /**
   * Names whose current version is not a delete marker
   * @min 0
   * @max 9007199254740991
   */
  objects: number | null;
  used: {
    bytes: number;
    objects: number;
  };
}

export interface ScoredPlayer {
  user_info: LeaderboardEntry & {
    season: string;
    /** Present if the rank is an estimate: other players have scores near this one. A read of the player is exact */
    rank_exact?: false;
  };
  duplicate: boolean;
  /**
   * Without `rank_exact`, the rank is exact as of this time. That of a duplicate is the first one
   * @format date-time
   */
  as_of: string;
  /**
   * For `min_as_of` of a read that has to count this post
   * @format date-time
   */
  written_at: string;
}

export interface LeaderboardEntry {
  user_id: string;
  user_name: string;
  rank: number;
  score: number;
  /** Data of the score, if the board keeps data and the score has some */
  data?: any;
}

export interface ScoreUpdate {
  /**
   * @pattern ^(?!\.{1,2}$)[A-Za-z0-9._:@-]{1,64}$
   * @example "player-7f3a"
   */
  user_id: string;
  /**
   * @min 0
   * @max 1000000
   */
  points: number;
  /**
   * @minLength 1
   * @maxLength 64
   */
  user_name?: string;
  /**
   * Of this player. A repeat returns the first result for at least 48 hours; with other points it is 409
   * @minLength 1
   * @maxLength 128
   */
  event_id?: string;
  /**
   * @pattern ^\d{4}-(0[1-9]|1[0-2])$
   * @example "2026-11"
   */
  season?: string;
}

/** Repeats the ids of the update */
export type RefusedUpdate = Problem & {
  user_id?: string;
  event_id?: string;
};

export interface Leaderboard {
  data: LeaderboardEntry[];
  total: number;
  season: string;
  players: number;
  /** @format date-time */
  as_of: string;
  next_cursor: string | null;
}

export interface LeaderboardPlayer {
  user_info: LeaderboardEntry & {
    season: string;
    players: number;
    /** Percent of all players whose score is not higher */
    percentile: number;
  };
  /** @format date-time */
  as_of: string;
}

export interface LeaderboardNeighbors {
  data: LeaderboardEntry[];
  total: number;
  season: string;
  /** @format date-time */
  as_of: string;
}

export interface Season {
  season: string;
  state: "current" | "closing" | "historical";
  /** Number of players; null until the season is closed */
  players: number | null;
  closed_at: string | null;
  /** Shards that the closed season lacks. Their last counts stay in ranks */
  without: number[];
}

export interface LeaderboardShards {
  season: string;
  /** Whether the season object answers. If not, `data` is empty */
  available: boolean;
  data: {
    shard: number;
    available: boolean;
    players: number;
    /**
     * When ranks last counted the shard
     * @format date-time
     */
    as_of: string;
  }[];
}

export interface LeaderboardDistribution {
  data: {
    from: number;
    /** inclusive */
    to: number;
    players: number;
  }[];
  /** Number of ranges */
  total: number;
  season: string;
  /** Sum over all ranges */
  players: number;
  /** @format date-time */
  as_of: string;
}

export interface ScoreCorrection {
  /**
   * @min -9007199254740991
   * @max 9007199254740991
   */
  score?: number;
  hidden?: boolean;
  /**
   * @minLength 1
   * @maxLength 1000
   */
  reason: string;
}

export interface PlayerErasure {
  id: string;
  state: "waiting" | "done";
  requested_at: string;
  finished_at: string | null;
  /** Seasons whose shard of the player did not answer yet */
  waiting: string[];
}

export interface BoardScoreUpdate {
  /**
   * @pattern ^(?!\.{1,2}$)[A-Za-z0-9._:@-]{1,64}$
   * @example "player-7f3a"
   */
  user_id: string;
  /**
   * @min -2147483648
   * @max 4294967295
   */
  points: number;
  /**
   * @minLength 1
   * @maxLength 64
   */
  user_name?: string;
  /**
   * Of this player. A repeat returns the first result for at least 48 hours; with other points it is 409
   * @minLength 1
   * @maxLength 128
   */
  event_id?: string;
  /**
   * A month, a week of ISO 8601, a day, `all` for a board without periods, or start and end. After a reset, `.` and its time follow. All in UTC
   * @pattern ^(\d{4}-(\d\d(-\d\d)?|W\d\d)|all|\d{8}T\d{6}Z--\d{8}T\d{6}Z)(\.\d{8}T\d{6}Z)?$
   * @example "2026-W47"
   */
  season?: string;
  /** JSON that is kept with the score that counts, such as the car or the build. At most `max_data_bytes` of the board */
  data?: any;
}

export interface Board {
  /**
   * @minLength 1
   * @maxLength 64
   * @example "Fastest laps"
   */
  title: string;
  /** `asc`: a lower score is better, as for race times */
  sort: "desc" | "asc";
  /** How the points of several posts make one score */
  operator: "sum" | "best" | "last";
  /** A season of the board. Weeks begin on Monday. All in UTC. `custom` needs `schedule` */
  period: "month" | "week" | "day" | "none" | "custom";
  /**
   * Seasons of a chosen length, with the period `custom`. It never changes
   * @default null
   */
  schedule?: {
    /**
     * Length of a season, in units
     * @min 1
     * @max 1000
     */
    every: number;
    unit: "hour" | "day" | "week" | "month";
    /**
     * Start of the first season. Days, weeks and months keep its local time
     * @format date-time
     */
    starts_at: string;
    /**
     * @maxLength 64
     * @default "UTC"
     * @example "Europe/Berlin"
     */
    time_zone?: string;
    /**
     * End of the last season; null without one
     * @format date-time
     */
    ends_at?: string;
  };
  /** Whether everyone may read it */
  public: boolean;
  /**
   * @min 1
   * @max 4294967295
   * @default 1000000
   */
  max_points_per_post?: number;
  /**
   * Whether points and scores may be negative. It never changes
   * @default false
   */
  negative?: boolean;
  /**
   * Decimals with which pages show scores: 2 shows 1234 as 12.34. Points and scores of the API stay integers
   * @min 0
   * @max 6
   * @default 0
   */
  decimals?: number;
  /**
   * Minimum of seconds between two posts of a player; null without one
   * @min 1
   * @max 86400
   * @default null
   */
  seconds_between_posts?: number | null;
  /**
   * Maximum length of the data of an entry, in bytes of JSON; null for a board without data
   * @min 1
   * @max 1024
   * @default null
   */
  max_data_bytes?: number | null;
  /**
   * `required`: pages may begin plays and send their results. Game servers may post in any case
   * @default "off"
   */
  sessions?: "off" | "required";
  /**
   * Rules of plays; null without sessions, or for the defaults
   * @default null
   */
  session_rules?: {
    /**
     * Origins of the pages that may begin plays. No page of another origin may
     * @maxItems 20
     * @default []
     */
    origins?: string[];
    /**
     * From the begin of a play to its result
     * @min 0
     * @max 86400
     * @default 0
     */
    least_seconds?: number;
    /**
     * @min -2147483648
     * @max 4294967295
     * @default 0
     */
    least_points?: number;
    /**
     * @min -2147483648
     * @max 4294967295
     * @default null
     */
    most_points?: number | null;
    /**
     * @exclusiveMin 0
     * @max 4294967295
     * @default null
     */
    most_points_per_second?: number | null;
    /**
     * Whether the webhook of the board judges each result that breaks no rule
     * @default false
     */
    judged?: boolean;
  };
  /**
   * Maximum of points that a player gets in a day of UTC; null without a limit. Needs the operator `sum`
   * @min 1
   * @max 9007199254740991
   * @default null
   */
  max_points_per_day?: number | null;
  /**
   * Number of past seasons that are kept; null for all. Older ones are erased for good
   * @min 1
   * @max 10000
   * @default null
   */
  seasons_kept?: number | null;
  /**
   * Whether everyone may search its players by the beginning of their names
   * @default false
   */
  find_by_name?: boolean;
  /** Number of shards of its next seasons */
  shards: number;
  /**
   * A first post to a name that begins with this makes a board with the rules of this one, if the token has the scope `boards:create`
   * @default null
   * @pattern ^[a-z0-9][a-z0-9-]{0,30}$
   * @example "level-"
   */
  makes_boards?: string | null;
  /** @example "races" */
  board: string;
  /**
   * Path of its logo, which changes with the picture
   * @example "/v1/boards/races/logo/3f9c2d1e5b7a4860"
   */
  logo: string | null;
  /**
   * Time from which `max_points_per_day` holds: 30 seconds after a change. Null if it never changed
   * @format date-time
   */
  max_points_per_day_from: string | null;
  /** @format date-time */
  created_at: string | null;
}

export interface BoardReset {
  /**
   * The season that begins
   * @example "all.20261120T100005Z"
   */
  season: string;
  /**
   * The season that ends
   * @example "all"
   */
  ended: string;
  /**
   * Time at which it holds: half a minute from now
   * @format date-time
   */
  at: string;
}

export interface Play {
  /** Also the `event_id` of the result */
  play_id: string;
  /** Sent with the result. Secret: it lets anybody send the result */
  play: string;
  user_id: string;
  /** @format date-time */
  started_at: string;
  /** @format date-time */
  ends_at: string;
}

export type CountedResult = ScoredPlayer & {
  status: "counted";
};

/** `waiting`: an operator decides about it */
export interface QuarantinedResult {
  status: "waiting" | "accepted" | "refused";
}

export interface ResultInQuarantine {
  play_id: string;
  user_id: string;
  user_name: string | null;
  points: number;
  data?: any;
  /** The first rule that it breaks */
  breach:
    | "too_fast"
    | "too_few_points"
    | "too_many_points"
    | "too_many_points_per_second"
    | "unjudged"
    | "suspected"
    | "points_per_day_exceeded"
    | "plays_overlap";
  /** From the begin of the play to the result */
  seconds: number;
  status: "waiting" | "accepted" | "refused";
  /** @format date-time */
  received_at: string;
  /** @format date-time */
  decided_at: string | null;
}

export interface BannedPlayer {
  user_id: string;
  /** @format date-time */
  banned_at: string;
}

export interface BoardLogo {
  /** @example "/v1/boards/races/logo/3f9c2d1e5b7a4860" */
  logo: string;
}

export interface BoardWebhookCreated {
  /**
   * @format uri
   * @maxLength 2000
   * @example "https://game.example.com/hooks/seasons"
   */
  url: string;
  /** @format date-time */
  created_at: string;
  /**
   * Null if only the URL changed. Never shown again
   * @example "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwrX9yzGz8TQY="
   */
  secret: string | null;
}

export interface BoardWebhookRotated {
  /**
   * @format uri
   * @maxLength 2000
   * @example "https://game.example.com/hooks/seasons"
   */
  url: string;
  /** @format date-time */
  created_at: string;
  /** @example "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwrX9yzGz8TQY=" */
  secret: string;
}

export interface BoardWebhook {
  /**
   * @format uri
   * @maxLength 2000
   * @example "https://game.example.com/hooks/seasons"
   */
  url: string;
  /** @format date-time */
  created_at: string;
  waiting: {
    /** @example "2026-W47" */
    season: string;
    attempts: number;
    /** @format date-time */
    next_attempt_at: string;
    /** HTTP status of the last answer; null without one */
    status: number | null;
  }[];
}

export interface SessionAnswer {
  user: Profile;
  token: string;
  expires_at: string;
}

export interface Profile {
  user_id: string;
  email: string;
  name: string;
  account_type: "personal" | "business";
  quota: {
    used_bytes: number;
    limit_bytes: number;
  };
  /** All files of one message, decoded. */
  attachment_limit_bytes: number;
  /** The same for mail to other servers, by the way that it takes. */
  outside_attachment_limit_bytes: number;
  signature: string;
  addresses: string[];
  totp_enabled: boolean;
  recovery_codes_left: number;
  recovery_address: string | null;
  has_password: boolean;
  password_needs_passkey: boolean;
  /** Whether `GET /v1/me/security-review` waits for the user */
  security_review: boolean;
  /** The bridge that programs of IMAP and SMTP use, both over TLS; null if none is offered. */
  mail_programs: {
    host: string;
    imap_port: number;
    submission_port: number;
  };
  state: string;
  created_at: string;
}

export interface Register {
  /** @maxLength 320 */
  email: string;
  /**
   * @minLength 8
   * @maxLength 256
   */
  password: string;
  /**
   * @minLength 1
   * @maxLength 128
   * @pattern ^[^\u0000-\u001f\u007f-\u009f]*$
   */
  name: string;
  /** @maxLength 200 */
  invite?: string;
  /**
   * @minLength 1
   * @maxLength 2048
   */
  turnstile?: string;
}

export interface Login {
  /** @maxLength 320 */
  email: string;
  /** @maxLength 256 */
  password: string;
  /** @pattern ^\d{6}$ */
  totp?: string;
  /** @maxLength 40 */
  recovery_code?: string;
  /**
   * @minLength 1
   * @maxLength 2048
   */
  turnstile?: string;
  /**
   * Proof of work `minute.number`: SHA-256 of `tessera login`, the lower-case address (or `operator ` and the login) and the proof, one per line, begins with 19 zero bits. The minute is that of now since 1970.
   * @maxLength 24
   */
  proof?: string;
  /** @maxLength 40 */
  mailed_code?: string;
  passkey?: PasskeyAssertion;
}

export interface ProfilePatch {
  /**
   * @minLength 1
   * @maxLength 128
   * @pattern ^[^\u0000-\u001f\u007f-\u009f]*$
   */
  name?: string;
  /** @maxLength 10000 */
  signature?: string;
}

export interface Session {
  session_id: string;
  user_agent: string | null;
  created_at: string;
  last_seen_at: string;
  expires_at: string;
  is_current: boolean;
}

export interface AppToken {
  token_id: string;
  name: string;
  scopes: string[];
  created_at: string;
  expires_at: string | null;
  /** Precise to an hour. Null before the first use. */
  last_used_at: string | null;
  /** The OAuth client of a connection; null for other tokens. */
  client_id: string | null;
}

export interface NewAppToken {
  token_id: string;
  name: string;
  scopes: string[];
  created_at: string;
  expires_at: string | null;
  /** Precise to an hour. Null before the first use. */
  last_used_at: string | null;
  /** The OAuth client of a connection; null for other tokens. */
  client_id: string | null;
  token: string;
}

export interface OwnAccessKey {
  access_key_id: string;
  created_at: string;
  expires_at: string | null;
  /** Precise to an hour. Null before the first use. */
  last_used_at: string | null;
}

export interface NewOwnAccessKey {
  access_key_id: string;
  created_at: string;
  expires_at: string | null;
  /** Precise to an hour. Null before the first use. */
  last_used_at: string | null;
  secret_access_key: string;
}

export interface OwnAddress {
  email: string;
  is_primary: boolean;
}

export interface MaskedAddress {
  /** @example "maple.otter.4182@example.test" */
  email: string;
  /** pending: ends by itself if no mail comes within a day. deleted: ended; it can be opened again. */
  state: "pending" | "enabled" | "disabled" | "deleted";
  note: string;
  for_domain: string;
  created_by: string;
  created_at: string;
  /** Precise to an hour. */
  last_message_at: string | null;
}

export interface MailAccount {
  user_id: string;
  email: string;
  account_type: "personal" | "business";
  created_at: string;
}

export interface AccountAddress {
  /** @example "sales-*@example.test" */
  email: string;
  is_primary: boolean;
}

export interface SecurityReview {
  /** Whether a new password was set and its review has not ended */
  pending: boolean;
  changed_at: string | null;
  /** Start of the time whose passkeys and keys ended */
  since: string | null;
  ended: {
    kind: "passkey" | "access_key" | "token";
    name: string;
    created_at: string;
  }[];
  /** Settings that stay until you remove them */
  open: {
    kind: "recovery_address" | "forward_target" | "address_forward" | "filter";
    name: string;
    /** Path to which a `DELETE` removes it */
    remove: string;
  }[];
}

export interface RecoveryAddress {
  email: string | null;
  /** Time from which `email` counts, 72 hours after its confirmation or after a removal. Null if it counts */
  works_from: string | null;
  /** The address that counts until then */
  former_email: string | null;
  /** The address that waits for its code */
  pending_email: string | null;
}

export interface Folder {
  id: string;
  name: string;
  user_id: string;
  role:
    | "inbox"
    | "all"
    | "archive"
    | "drafts"
    | "flagged"
    | "junk"
    | "sent"
    | "trash";
  unread: number;
  total: number;
}

export interface MessageSummary {
  id: string;
  user_id: string;
  email_id: string;
  thread_id: string;
  folder_id: string;
  from: Address;
  to: Address[];
  /** The Date header; received_at if the header is missing or invalid. */
  date: string;
  received_at: string;
  subject: string;
  preview: string;
  size: number;
  is_read: boolean;
  is_flagged: boolean;
  is_answered: boolean;
  is_forwarded: boolean;
  /** When the message returns to the Inbox. */
  snoozed_until: string | null;
  is_draft: boolean;
  has_attachments: boolean;
  labels: string[];
  snippet?: string;
}

export interface Address {
  name: string;
  email: string;
}

export interface FolderName {
  /**
   * The whole path, with parts separated by "/".
   * @minLength 1
   * @maxLength 1000
   */
  name: string;
}

export interface FolderPatch {
  /**
   * The whole path, with parts separated by "/".
   * @minLength 1
   * @maxLength 1000
   */
  name?: string;
  /** Whether mail programs show the folder. */
  is_subscribed?: boolean;
}

/** Counts exclude Junk and Trash, like a search for `label:`. */
export interface Label {
  label: string;
  total: number;
  unread: number;
}

export interface Message {
  id: string;
  user_id: string;
  email_id: string;
  thread_id: string;
  folder_id: string;
  from: Address;
  to: Address[];
  /** The Date header; received_at if the header is missing or invalid. */
  date: string;
  received_at: string;
  subject: string;
  preview: string;
  size: number;
  is_read: boolean;
  is_flagged: boolean;
  is_answered: boolean;
  is_forwarded: boolean;
  /** When the message returns to the Inbox. */
  snoozed_until: string | null;
  is_draft: boolean;
  has_attachments: boolean;
  labels: string[];
  cc: Address[];
  bcc?: Address[];
  reply_to: Address[];
  importance: "high" | "normal" | "low";
  /** How to unsubscribe from the list of the message. POST …/unsubscribe does it by one_click and mail. A web page is opened by the user. */
  unsubscribe: Unsubscribe;
  /** The identifier in List-Id (RFC 2919), in lower case. */
  list_id: string | null;
  /** The masked address that received the message, if neither To nor Cc names it. */
  delivered_to: string | null;
  body: string;
  html: string | null;
  /** Present if the bodies are too long to be shown whole: `body` is cut, and `html` is null. `…/raw` has all bytes. */
  is_truncated?: true;
  headers: {
    message_id: string | null;
    in_reply_to: string | null;
    references: string[];
  };
  attachments: Attachment[];
  authentication: Record<string, any> | null;
  spam: Record<string, any> | null;
  delivery?: DeliveryState[];
}

/** How to unsubscribe from the list of the message. POST …/unsubscribe does it by one_click and mail. A web page is opened by the user. */
export type Unsubscribe =
  | {
      method: "one_click";
      url: string;
    }
  | {
      method: "mail";
      email: string;
      subject: string;
      body: string;
    }
  | {
      method: "web";
      url: string;
    }
  | null;

export interface Attachment {
  file_name: string;
  content_type: string;
  size: number;
  inline: boolean;
  content_id: string | null;
}

export interface DeliveryState {
  email: string;
  state:
    | "queued"
    | "held"
    | "deferred"
    | "sent"
    | "delivered"
    | "failed"
    | "canceled";
  next_attempt_at?: string | null;
  last_reply?: string | null;
  /** An attempt was interrupted after its last byte: the message may have arrived, or arrived twice. */
  uncertain?: boolean;
  /** The message is sent, but the server of the recipient put it off; `last_reply` has its words. The service that carries the mail tries again. */
  delayed?: boolean;
}

export interface MessagePatch {
  is_read?: boolean;
  is_flagged?: boolean;
  is_answered?: boolean;
  is_forwarded?: boolean;
  /**
   * Archives the message until this time, at most a year ahead. null, or a move, ends that.
   * @format date-time
   */
  snoozed_until?: string | null;
  /** @maxLength 100 */
  folder_id?: string;
  /** @maxItems 50 */
  labels?: string[];
}

export interface UnsubscribeAnswer {
  method: "one_click" | "mail";
}

export interface MessageBatchAnswer {
  results: {
    id: string;
    status: "updated" | "unchanged" | "deleted" | "not_found";
  }[];
  /**
   * The part of the mailbox, by time, that is done.
   * @min 0
   * @max 1
   * @example 1
   */
  progress: number;
  next_cursor: string | null;
}

export interface MessageBatch {
  is_read?: boolean;
  is_flagged?: boolean;
  is_answered?: boolean;
  is_forwarded?: boolean;
  /**
   * Archives the message until this time, at most a year ahead. null, or a move, ends that.
   * @format date-time
   */
  snoozed_until?: string | null;
  /** @maxLength 100 */
  folder_id?: string;
  /** @maxItems 50 */
  labels?: string[];
  /**
   * @maxItems 1000
   * @minItems 1
   */
  message_ids?: string[];
  /**
   * Changes all messages that this search finds, in place of message_ids. Repeat the request with next_cursor as cursor until it is null.
   * @minLength 1
   * @maxLength 1000
   */
  query?: string;
  /** @maxLength 500 */
  cursor?: string;
  /** @maxItems 50 */
  add_labels?: string[];
  /** @maxItems 50 */
  remove_labels?: string[];
  /** Like DELETE: moves to Trash; deletes permanently from Trash. */
  delete?: true;
}

export interface Thread {
  id: string;
  is_muted: boolean;
  data: Message[];
  next_cursor: string | null;
}

export interface ThreadPatch {
  is_muted: boolean;
}

export interface Invitation {
  /** @example "invite.ics" */
  file_name: string;
  /**
   * request, cancel, reply, publish or another one of RFC 5546.
   * @example "request"
   */
  method: string | null;
  uid: string;
  sequence: number;
  /**
   * confirmed, tentative or cancelled.
   * @example "confirmed"
   */
  status: string | null;
  summary: string;
  description: string;
  location: string;
  start: CalendarTime;
  /** Not part of the event. Of whole days, the day after the last. */
  end: (CalendarTime & object) | null;
  is_all_day: boolean;
  /**
   * The RRULE.
   * @example "FREQ=WEEKLY;COUNT=4"
   */
  recurrence: string | null;
  organizer: Address;
  attendees: {
    name: string;
    email: string;
    is_optional: boolean;
    /**
     * needs_action, accepted, declined, tentative, delegated or another one of RFC 5545.
     * @example "accepted"
     */
    response: string;
  }[];
}

export interface CalendarTime {
  /**
   * The time in its time zone, or the date of a whole day.
   * @example "2026-11-05T10:30:00"
   */
  local: string;
  /** @example "Europe/Berlin" */
  time_zone: string | null;
  /**
   * The same time in UTC. Null for a whole day, and if the time zone is unknown or absent.
   * @example "2026-11-05T09:30:00.000Z"
   */
  at: string | null;
}

export interface Events {
  state: string;
  changes?: Change[];
  resync?: true;
}

export interface Change {
  /** message_created, message_updated, message_deleted, delivery_updated, folder_created, folder_updated, folder_deleted, mailbox_updated, filters_updated, contacts_updated, senders_updated, thread_updated; of JMAP: identity_created, identity_updated, identity_deleted, submission_created, submission_deleted. Ignore other types. */
  type: string;
  message_id?: string;
  /** The id of the JMAP email, if it is not message_id. */
  email_id?: string;
  /** A draft was saved: the id of the JMAP email that email_id replaces. */
  replaced_email_id?: string;
  /** The first folder of the message, or the folder itself. */
  folder_id?: string;
  /** All folders of the message, if it is in several. */
  folder_ids?: string[];
  /** Folders that the message left. */
  left_folder_ids?: string[];
  thread_id?: string;
  /** The thread that a saved draft left. */
  left_thread_id?: string;
  /** The message began its thread, or was the last one in it; of a saved draft, the last one in left_thread_id. */
  thread?: "began" | "ended";
  identity_id?: string;
  submission_id?: string;
  /** The message came by mail into a folder other than Junk and Trash, and its thread is not muted. */
  is_delivered?: true;
  is_read?: boolean;
  is_flagged?: boolean;
  is_answered?: boolean;
  is_forwarded?: boolean;
  /** Set if it changed. */
  snoozed_until?: string | null;
  /** Of thread_updated. */
  is_muted?: boolean;
  labels?: string[];
}

export interface Draft {
  id: string;
  /** Why a message that was sent came back to Drafts: the words of the spam or virus check. Null after the next save. */
  refusal: string | null;
  revision: number;
  updated_at: string;
  from: {
    name: string;
    email: string;
  };
  to: {
    name: string;
    email: string;
  }[];
  cc: {
    name: string;
    email: string;
  }[];
  bcc: {
    name: string;
    email: string;
  }[];
  reply_to: {
    name: string;
    email: string;
  }[];
  subject: string;
  body: string;
  html: string | null;
  attachments: Upload[];
  in_reply_to: string | null;
  references: string[];
  headers: HeaderField[];
  importance: "high" | "normal" | "low";
  forward_of: string | null;
}

export interface Upload {
  attachment_id: string;
  file_name: string;
  size: number;
  content_type: string;
}

/** @example {"name":"X-Ticket","value":"4711"} */
export interface HeaderField {
  /**
   * @maxLength 76
   * @pattern ^[!-9;-~]+$
   */
  name: string;
  /**
   * @minLength 1
   * @maxLength 900
   * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
   */
  value: string;
}

export interface DraftRequest {
  from?: {
    /**
     * @maxLength 256
     * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
     */
    name?: string;
    /**
     * @maxLength 320
     * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
     */
    email: string;
  };
  /**
   * @maxItems 1000
   * @default []
   */
  to?: {
    /**
     * @maxLength 256
     * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
     */
    name?: string;
    /**
     * @maxLength 320
     * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
     */
    email: string;
  }[];
  /**
   * @maxItems 1000
   * @default []
   */
  cc?: {
    /**
     * @maxLength 256
     * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
     */
    name?: string;
    /**
     * @maxLength 320
     * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
     */
    email: string;
  }[];
  /**
   * @maxItems 1000
   * @default []
   */
  bcc?: {
    /**
     * @maxLength 256
     * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
     */
    name?: string;
    /**
     * @maxLength 320
     * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
     */
    email: string;
  }[];
  /**
   * @maxItems 20
   * @default []
   */
  reply_to?: {
    /**
     * @maxLength 256
     * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
     */
    name?: string;
    /**
     * @maxLength 320
     * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
     */
    email: string;
  }[];
  /**
   * @maxLength 2000
   * @default ""
   * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
   */
  subject?: string;
  /**
   * @maxLength 1900000
   * @default ""
   */
  body?: string;
  /** @maxLength 1900000 */
  html?: string;
  /**
   * @maxItems 100
   * @default []
   */
  attachments?: {
    /** @maxLength 100 */
    attachment_id: string;
  }[];
  /**
   * @maxLength 998
   * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
   */
  in_reply_to?: string;
  /**
   * @maxItems 100
   * @default []
   */
  references?: string[];
  /** @maxItems 50 */
  headers?: HeaderField[];
  importance?: "high" | "normal" | "low";
  /**
   * The id of the message that this one forwards. It is marked as forwarded when this one is sent.
   * @maxLength 100
   */
  forward_of?: string;
}

export interface Filter {
  id: string;
  name: string;
  enabled: boolean;
  match: "all" | "any";
  conditions: (
    | {
        field: "from" | "to" | "subject" | "body";
        operator: "contains" | "is" | "begins_with" | "ends_with";
        /**
         * @maxLength 500
         * @pattern \S
         */
        value: string;
        negate?: boolean;
      }
    | {
        field: "header";
        /** @pattern ^[!-9;-~]{1,100}$ */
        header_name: string;
        operator: "contains" | "is" | "begins_with" | "ends_with";
        /**
         * @maxLength 500
         * @pattern \S
         */
        value: string;
        negate?: boolean;
      }
    | {
        field: "header";
        /** @pattern ^[!-9;-~]{1,100}$ */
        header_name: string;
        operator: "exists";
        /** @maxLength 500 */
        value?: string;
        negate?: boolean;
      }
    | {
        field: "size";
        operator: "larger" | "smaller";
        /**
         * @min 0
         * @max 1000000000
         */
        bytes: number;
        negate?: boolean;
      }
    | {
        field: "has_attachment";
        negate?: boolean;
      }
  )[];
  actions: (
    | {
        type: "move";
        /** @maxLength 100 */
        folder_id: string;
      }
    | {
        type: "label";
        /**
         * @minLength 1
         * @maxLength 100
         * @pattern ^[^\u0000-\u001f\u007f-\u009f]*$
         */
        label: string;
      }
    | {
        type: "forward";
        /**
         * @format email
         * @maxLength 254
         */
        to: string;
      }
    | {
        type: "mark_read" | "flag" | "trash" | "stop";
      }
  )[];
}

export interface FilterRequest {
  /**
   * @minLength 1
   * @maxLength 100
   */
  name: string;
  /** @default true */
  enabled?: boolean;
  /** @default "all" */
  match?: "all" | "any";
  /** @maxItems 50 */
  conditions: (
    | {
        field: "from" | "to" | "subject" | "body";
        operator: "contains" | "is" | "begins_with" | "ends_with";
        /**
         * @maxLength 500
         * @pattern \S
         */
        value: string;
        negate?: boolean;
      }
    | {
        field: "header";
        /** @pattern ^[!-9;-~]{1,100}$ */
        header_name: string;
        operator: "contains" | "is" | "begins_with" | "ends_with";
        /**
         * @maxLength 500
         * @pattern \S
         */
        value: string;
        negate?: boolean;
      }
    | {
        field: "header";
        /** @pattern ^[!-9;-~]{1,100}$ */
        header_name: string;
        operator: "exists";
        /** @maxLength 500 */
        value?: string;
        negate?: boolean;
      }
    | {
        field: "size";
        operator: "larger" | "smaller";
        /**
         * @min 0
         * @max 1000000000
         */
        bytes: number;
        negate?: boolean;
      }
    | {
        field: "has_attachment";
        negate?: boolean;
      }
  )[];
  /**
   * @maxItems 20
   * @minItems 1
   */
  actions: (
    | {
        type: "move";
        /** @maxLength 100 */
        folder_id: string;
      }
    | {
        type: "label";
        /**
         * @minLength 1
         * @maxLength 100
         * @pattern ^[^\u0000-\u001f\u007f-\u009f]*$
         */
        label: string;
      }
    | {
        type: "forward";
        /**
         * @format email
         * @maxLength 254
         */
        to: string;
      }
    | {
        type: "mark_read" | "flag" | "trash" | "stop";
      }
  )[];
  /**
   * Position in the order, from 0. A new filter goes last.
   * @min 0
   * @max 1000
   */
  position?: number;
}

export interface Contact {
  id: string;
  name: string;
  email: string;
  note: string;
  is_saved: boolean;
  sent_count: number;
  last_sent_at: string | null;
}

export interface ContactRequest {
  /**
   * @maxLength 200
   * @default ""
   * @pattern ^[^\u0000-\u001f\u007f-\u009f]*$
   */
  name?: string;
  /**
   * @format email
   * @maxLength 254
   */
  email: string;
  /**
   * @maxLength 2000
   * @default ""
   */
  note?: string;
}

/**
 * Mail of a trusted sender never goes to Junk if authentication proves the sender. Mail of a blocked one always does.
 * @example {"id":"6f9d0b9e-3c55-4f0c-8a1e-5d3c0f1d2b7a","sender":"news@example.com","kind":"address","status":"trusted","origin":"user","created_at":"2026-11-22T09:00:00.000Z"}
 */
export interface Sender {
  id: string;
  sender: string;
  kind: "address" | "domain" | "list";
  status: "trusted" | "blocked";
  /** user: entered here. mail: learned from a message that was moved out of Junk or into it. */
  origin: "user" | "mail";
  created_at: string;
}

/** @example {"sender":"news@example.com","status":"trusted"} */
export interface SenderRequest {
  /**
   * An address, a domain like `@example.com`, or a mailing list like `<news.example.com>` (List-Id).
   * @minLength 3
   * @maxLength 320
   */
  sender: string;
  status: "trusted" | "blocked";
}

export interface ImportReport {
  messages: number;
  imported: number;
  duplicates: number;
  failed: number;
  /** Messages not read. Send the same file again until this is 0. */
  remaining: number;
  /** Bytes of the file: the sum of the five counts that follow. */
  size_bytes: number;
  imported_bytes: number;
  duplicate_bytes: number;
  failed_bytes: number;
  remaining_bytes: number;
  /** Bytes before the first message that are not a message. */
  skipped_bytes: number;
  /** The first 100 messages that were refused, with their bytes in the file. */
  failures: {
    index: number;
    code: string;
    offset: number;
    size_bytes: number;
  }[];
}

export interface Pull {
  id: string;
  host: string;
  port: number;
  user_name: string;
  /** waiting: the next connection begins at `next_at`. ended: the secret is erased; POST again to continue. */
  state: "connected" | "waiting" | "ended";
  /** Why the last connection failed. login_refused, host_not_allowed (not a public host) and secret_lost (MASTER_KEY changed) end the pull. */
  fault:
    | "login_refused"
    | "host_not_allowed"
    | "secret_lost"
    | "tls_failed"
    | "unreachable"
    | "interrupted"
    | "over_quota";
  imported: number;
  /** Messages that the mailbox had, by their bytes. */
  duplicates: number;
  /** Messages larger than 40 MB, or that the server does not deliver. */
  failed: number;
  /** Messages not read yet, of the folders that were opened. */
  remaining: number;
  /** Folders that were opened. */
  folders: number;
  /** How often all folders were read to their ends. */
  passes: number;
  started_at: string;
  next_at: string | null;
  /** The pull ends then at the latest: 30 days after it was started. */
  ends_at: string;
}

/** @example {"host":"imap.example.com","port":993,"user_name":"me@example.com","password":"an app password"} */
export interface PullRequest {
  /**
   * Public name of the IMAP server.
   * @minLength 1
   * @maxLength 253
   */
  host: string;
  /**
   * 993: TLS from the first byte. 143: STARTTLS, which is required.
   * @default 993
   */
  port?: 993 | 143;
  /**
   * @minLength 1
   * @maxLength 320
   */
  user_name: string;
  /**
   * @minLength 1
   * @maxLength 8000
   */
  password?: string;
  /**
   * An OAuth access token for IMAP (XOAUTH2), instead of a password. Providers let it expire, often after an hour.
   * @minLength 1
   * @maxLength 8000
   */
  oauth_token?: string;
}

export interface MailTrace {
  /** The newest first, at most 100 of each kind. */
  steps: {
    at: string;
    step: "offered" | "waiting" | "quarantined" | "delivered" | "sent";
    /** offered: Email Routing's status. delivered: role of the folder, or `folder`. sent: state of the recipient. waiting: number of attempts. */
    result: string;
    /** Verdicts, the other server's reply, or why it waits. */
    detail: string;
    peer: string;
    message_id: string | null;
    /** Address of the mailbox, in a search by `message_id` alone. */
    mailbox?: string;
  }[];
  /** Whether the activity log of Email Routing was read. Mail that Email Routing refused is only in it, so without it "never offered" is not proven. */
  routing_log:
    | "read"
    | "not_configured"
    | "unavailable"
    | "not_for_people"
    | "not_asked";
  next_cursor: string | null;
  /** Mailboxes that did not answer a search by `message_id` alone. */
  unreached: number;
}

/** The key for `PushManager.subscribe` (VAPID, RFC 8292), in base64url. */
export interface PushKey {
  application_server_key: string;
}

/**
 * Subscribe again before it expires.
 * @example {"subscription_id":"9f86d081884c7d659a2feaa0c55ad015","expires_at":"2026-12-22T09:00:00.000Z"}
 */
export interface PushSubscription {
  subscription_id: string;
  expires_at: string;
}

/**
 * As `PushSubscription.toJSON()` of a browser, without `expirationTime`.
 * @example {"endpoint":"https://push.example.com/p/4f2c","keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}
 */
export interface PushSubscriptionRequest {
  /** @maxLength 2000 */
  endpoint: string;
  keys: {
    /** @maxLength 200 */
    p256dh: string;
    /** @maxLength 100 */
    auth: string;
  };
}

export interface Vacation {
  enabled: boolean;
  /**
   * @maxLength 200
   * @default ""
   * @pattern ^[^\u0000-\u001f\u007f-\u009f]*$
   */
  subject?: string;
  /**
   * @maxLength 10000
   * @default ""
   */
  body?: string;
  /**
   * @format date-time
   * @default null
   */
  starts_at?: string | null;
  /**
   * @format date-time
   * @default null
   */
  ends_at?: string | null;
}

export interface ForwardTarget {
  email: string;
  confirmed_at: string | null;
}

export interface AddressForward {
  email: string;
  to: string[];
  /** False: what was forwarded is not kept. */
  keeps_copy: boolean;
}

export interface SubmitAnswer {
  id: string;
  email_id: string;
  status: "queued";
  delivery: DeliveryState[];
}

export interface Submit {
  from?: SubmitSender;
  /** @maxItems 1000 */
  to?: SubmitAddress[];
  /** @maxItems 1000 */
  cc?: SubmitAddress[];
  /** @maxItems 1000 */
  bcc?: SubmitAddress[];
  /** @maxItems 20 */
  reply_to?: SubmitAddress[];
  /**
   * @maxLength 2000
   * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
   */
  subject?: string;
  /** @maxLength 5000000 */
  body?: string;
  /** @maxLength 5000000 */
  html?: string;
  /** @maxItems 100 */
  attachments?: (
    | {
        /** @maxLength 100 */
        attachment_id: string;
        /**
         * @maxLength 200
         * @pattern ^[!-;=?-~]+$
         */
        content_id?: string;
      }
    | {
        /**
         * @minLength 1
         * @maxLength 255
         * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
         */
        file_name: string;
        /**
         * @maxLength 200
         * @pattern ^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:;[ -~]*)?$
         */
        content_type: string;
        /** Base64 of up to 5 MB. */
        content: string;
        /**
         * @maxLength 200
         * @pattern ^[!-;=?-~]+$
         */
        content_id?: string;
      }
  )[];
  /**
   * @maxLength 998
   * @pattern ^<[^<>\s\u0000-\u001f\u007f-\u009f]+>$
   */
  in_reply_to?: string;
  /** @maxItems 100 */
  references?: string[];
  /** @maxItems 50 */
  headers?: HeaderField[];
  importance?: "high" | "normal" | "low";
  /**
   * The id of the message that this one forwards. It is marked as forwarded when this one is sent.
   * @maxLength 100
   */
  forward_of?: string;
  /** @format date-time */
  send_at?: string;
  /**
   * Without other content: sends the draft as saved.
   * @maxLength 100
   */
  draft_id?: string;
}

export interface SubmitSender {
  /**
   * @maxLength 256
   * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
   */
  name?: string;
  /**
   * @maxLength 320
   * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
   */
  email: string;
}

export interface SubmitAddress {
  /**
   * @maxLength 256
   * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
   */
  name?: string;
  /**
   * @maxLength 320
   * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
   */
  email: string;
}

export interface CancelAnswer {
  id: string;
  delivery: DeliveryState[];
  /** Null if some recipients already have the message. */
  draft_id: string | null;
}

export interface RecipientReplies {
  recipients: RecipientReply[];
}

export interface RecipientReply {
  email: string;
  smtp_code: number;
  detail: string;
}

export interface RecipientCheck {
  /** @maxLength 1000 */
  from: string;
  /** @maxLength 1000 */
  to: string;
  /**
   * Size of the message, if the client declared it (SIZE=).
   * @min 0
   */
  size?: number;
  /**
   * Number of recipients of this message that were accepted before. From the 101st on the reply is 452.
   * @min 0
   * @default 0
   */
  recipients?: number;
}

export interface InboundLedger {
  accepted: number;
  pending: number;
  /** Pending messages with a failed attempt, to be retried. */
  deferred: number;
  oldest_pending_at: string | null;
  outcomes: {
    inbox: number;
    junk: number;
    folder: number;
    quarantine: number;
    refused: number;
  };
  /** Whether accepted equals pending plus all outcomes. */
  balanced: boolean;
  turned_away: {
    day: string;
    smtp_code: number;
    reason: string;
    count: number;
  }[];
}

export interface OutboundQueue {
  /** Waiting recipients. */
  size: number;
  messages: number;
  bytes: number;
  oldest_age_seconds: number;
  due_lag_seconds: number;
  /** recipient_down: attempts fail and are deferred. too_few_consumers: due recipients have waited for minutes. */
  diagnosis: "healthy" | "recipient_down" | "too_few_consumers";
  states: {
    held: number;
    queued: number;
    deferred: number;
  };
  destinations: {
    destination: string;
    messages: number;
    held: number;
    queued: number;
    deferred: number;
    oldest_age_seconds: number;
    due_lag_seconds: number;
    last_reply: string | null;
    /** recipient_down: attempts fail and are deferred. too_few_consumers: due recipients have waited for minutes. */
    diagnosis: "healthy" | "recipient_down" | "too_few_consumers";
  }[];
  data: {
    id: string;
    user_id: string;
    kind: string;
    destination: string;
    held: number;
    queued: number;
    deferred: number;
    size: number;
    queued_at: string;
    next_attempt_at: string | null;
    last_reply: string | null;
  }[];
  next_cursor: string | null;
}

export interface OutboundError {
  id: string;
  user_id: string;
  kind: string;
  code: string;
  detail: string;
  recipients: string[];
  created_at: string;
  /** Whether the failed recipients or the request can be retried. */
  can_retry: boolean;
}

/** @example {"recipients":["bob@elsewhere.test"]} */
export interface OutboundRetry {
  /**
   * Only these recipients. Failed ones are retried only if they are named.
   * @maxItems 100
   * @minItems 1
   */
  recipients?: string[];
}

export interface Suppression {
  id: string;
  email: string;
  /** manual, complaint, hard_bounce, soft_bounce or policy. */
  reason: string;
  /** Null: for mail of every domain. */
  domain: string | null;
  created_at: string;
  /** Null: without an end. */
  until: string | null;
  /** Only Cloudflare Support can lift it. */
  read_only: boolean;
}

/** @example {"reason":"Subscribed again on 24 November."} */
export interface SuppressionLift {
  /**
   * Required for a complaint. It is in the audit log.
   * @minLength 1
   * @maxLength 500
   */
  reason?: string;
}

export interface Complaints {
  data: {
    user_id: string;
    /** Address of the account; null if it is gone. */
    email: string | null;
    /** Domain of the sender. */
    domain: string;
    complaints: number;
    last_at: string;
    /** Whether mail of the account waits until an operator releases it. */
    held: boolean;
  }[];
}

export interface SendingState {
  waiting: {
    /** Recipients that are due and wait for a consumer of the queue. */
    for_consumer: number;
    /** Recipients whose server deferred the mail, until their next attempt. */
    for_server: number;
    /** How long the oldest due recipient has waited. */
    due_lag_seconds: number;
    /** Messages in the queue of outgoing mail, as the platform counts them; null if it does not say. */
    hints: number | null;
    /** MAIL_CONSUMERS; null if only the platform limits them. */
    consumers_max: number | null;
    /** recipient_down: attempts fail and are deferred. too_few_consumers: due recipients have waited for minutes. */
    diagnosis: "healthy" | "recipient_down" | "too_few_consumers";
  };
  problems: {
    domain: string;
    code: "not_allowed" | "quota" | "no_events";
    message: string;
    /** Command that repairs it; null if none does. */
    command: string | null;
    /** Last words of Email Service; null if it refused nothing. */
    reply: string | null;
    /** Time of the last refusal, or since which no delivery event arrived. */
    at: string;
  }[];
  month: {
    /** Recipients that mailboxes were granted in this month (UTC). */
    recipients: number;
    /** MAIL_OUT_PER_MONTH */
    limit: number;
    dollars: number;
    limit_dollars: number;
  };
}

export interface Domain {
  domain: string;
  is_hosted: boolean;
  /** True if MAIL_DOMAINS hosts it. */
  is_configured: boolean;
  alias_of: string | null;
  catch_all: string | null;
  transport: string | null;
  is_held: boolean;
}

export interface NewDomain {
  /** False for a route only: the domain is not hosted. True by default. */
  is_hosted?: boolean;
  /**
   * A hosted domain: mail to any address of the alias goes to the same local part there, and its owners may send from the alias. No new address is issued at an alias.
   * @maxLength 255
   * @example "example.test"
   */
  alias_of?: string | null;
  /** @maxLength 320 */
  catch_all?: string | null;
  /**
   * @maxLength 1000
   * @example "smtp://relay.example:587?tls=required"
   */
  transport?: string | null;
  /** Holds mail to this domain. */
  is_held?: boolean;
  /**
   * @minLength 1
   * @maxLength 255
   */
  domain: string;
}

export interface DomainChange {
  /** False for a route only: the domain is not hosted. True by default. */
  is_hosted?: boolean;
  /**
   * A hosted domain: mail to any address of the alias goes to the same local part there, and its owners may send from the alias. No new address is issued at an alias.
   * @maxLength 255
   * @example "example.test"
   */
  alias_of?: string | null;
  /** @maxLength 320 */
  catch_all?: string | null;
  /**
   * @maxLength 1000
   * @example "smtp://relay.example:587?tls=required"
   */
  transport?: string | null;
  /** Holds mail to this domain. */
  is_held?: boolean;
}

export type DomainDetail = Domain & {
  dns_records: {
    type: "TXT" | "MX" | "SRV";
    name: string;
    value: string | null;
    purpose: string;
    seen: boolean | null;
  }[];
};

export interface QuarantinedMessage {
  id: string;
  user_id: string;
  from: string;
  to: string;
  subject: string;
  size: number;
  virus: Record<string, any>;
  created_at: string;
}

export interface JmapSession {
  capabilities: Record<string, any>;
  accounts: Record<string, any>;
  primaryAccounts: Record<string, string>;
  username: string;
  apiUrl: string;
  downloadUrl: string;
  uploadUrl: string;
  eventSourceUrl: string;
  state: string;
  [key: string]: any;
}

export interface JmapResponse {
  methodResponses: any[];
  sessionState: string;
  [key: string]: any;
}

export interface JmapUpload {
  accountId: string;
  blobId: string;
  type: string;
  size: number;
}

export type McpAnswer = Record<string, any>;

export type OAuthMetadata = Record<string, string | boolean | string[]>;

export interface OAuthTokens {
  access_token: string;
  token_type: "Bearer";
  expires_in: number;
  refresh_token: string;
  scope: string;
}

export interface OAuthError {
  error: string;
}

export interface AskedConnection {
  /** Address of the client to which the browser goes if the person refuses. */
  redirect_to: string;
  consent: {
    /** The checked request, for POST /v1/me/connections. */
    request: string;
    /** Name that the client gives itself. It is not checked. */
    client_name: string;
    /** The host that publishes the client. */
    client_host: string;
    /** The host that gets the code. */
    redirect_host: string;
    /** Whether the code goes to a program on the device of the person. */
    is_local: boolean;
    scopes: string[];
  };
}

export interface WaitingMessage {
  id: string;
  /** The token of the agent that asks. */
  token_id: string;
  waiting_since: string;
  /** null: the address of the account. */
  from: string | null;
  to: string[];
  cc: string[];
  subject: string;
  body: string;
  file_names: string[];
  /** Hash of the message. Any change of the draft makes another one. */
  sha256: string;
}

export interface Approval {
  /**
   * @maxItems 1000
   * @minItems 1
   */
  recipients: string[];
  /**
   * @pattern ^[0-9a-f]{64}$
   * @example "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
   */
  sha256: string;
}

export interface AgentRecipients {
  /**
   * @maxItems 100
   * @example ["grace@example.net"]
   */
  emails: string[];
}

export interface ImapAccount {
  user_id: string;
  address: string;
  addresses: string[];
  /** The largest message that may be appended or submitted. */
  message_bytes_max: number;
  /**
   * @min 0
   * @max 4294967295
   */
  uid_validity: number;
  /**
   * A number of the change log, as a decimal string. Also the space of MODSEQ.
   * @pattern ^\d{1,15}$
   */
  state: string;
  folders: {
    folder_id: string;
    /** The whole path, with parts separated by "/". */
    name: string;
    role: "inbox" | "archive" | "drafts" | "junk" | "sent" | "trash";
    total: number;
    unread: number;
    /**
     * @min 0
     * @max 4294967295
     */
    uid_next: number;
    is_subscribed: boolean;
  }[];
}

export interface ImapPage {
  /**
   * @min 0
   * @max 4294967295
   */
  uid_validity: number;
  /**
   * A number of the change log, as a decimal string. Also the space of MODSEQ.
   * @pattern ^\d{1,15}$
   */
  state: string;
  /**
   * @min 0
   * @max 4294967295
   */
  uid_next: number;
  messages: ImapMessage[];
  /**
   * The `after_uid` of the next page. Pages with different `state` do not fit together.
   * @min 0
   * @max 4294967295
   */
  next_after_uid: number | null;
}

/**
 * UID, message id, keywords, size in bytes, time of arrival in milliseconds since 1970, MODSEQ. Keywords are $seen, $flagged, $answered, $forwarded, $draft, $deleted (of the message in this folder) and the labels as they are.
 * @example [17,"3f1c7a52-8a55-4f0e-9d53-0d7b1c5a6e21",["$seen","invoices"],2048,1793871000000,42]
 */
export type ImapMessage = [number, string, string[], number, number, number];

export interface ImapChanges {
  /**
   * @min 0
   * @max 4294967295
   */
  uid_validity: number;
  /**
   * A number of the change log, as a decimal string. Also the space of MODSEQ.
   * @pattern ^\d{1,15}$
   */
  state: string;
  /**
   * @min 0
   * @max 4294967295
   */
  uid_next: number;
  /** `since` is too old or of another mailbox: list the folder again. */
  resync: boolean;
  /** Messages of the folder that were added or changed. */
  messages: ImapMessage[];
  /** Ids of changed messages that are not in the folder. */
  gone: string[];
}

export interface ImapFetchAnswer {
  messages: {
    message_id: string;
    /** Base64 of the header with its empty line. */
    header?: string;
    /** The tree of parts: `type`, `subtype`, `parameters`, `encoding`, `octets`, `lines` and the other fields of BODYSTRUCTURE (RFC 3501 §7.4.2), one character per byte. `start`, `body` and `end` are positions in the raw message. `parts` of a multipart; `message` and `envelope_header` (Base64) of message/rfc822. */
    structure?: Record<string, any>;
  }[];
  missing: string[];
}

export interface ImapFetch {
  /**
   * Id or role of the folder.
   * @minLength 1
   * @maxLength 100
   */
  folder_id?: string;
  /**
   * @maxItems 200
   * @minItems 1
   */
  message_ids: string[];
  /**
   * @maxItems 2
   * @minItems 1
   */
  want: ("header" | "structure")[];
}

export interface ImapFlagsAnswer {
  /**
   * @min 0
   * @max 4294967295
   */
  uid_validity: number;
  /**
   * A number of the change log, as a decimal string. Also the space of MODSEQ.
   * @pattern ^\d{1,15}$
   */
  state: string;
  messages: ImapMessage[];
  modified: string[];
}

export interface ImapFlags {
  /**
   * Id or role of the folder.
   * @minLength 1
   * @maxLength 100
   */
  folder_id: string;
  /**
   * @maxItems 1000
   * @minItems 1
   */
  message_ids: string[];
  /**
   * @maxItems 50
   * @default []
   */
  add?: string[];
  /**
   * @maxItems 50
   * @default []
   */
  remove?: string[];
  /**
   * Leave messages alone that changed after it.
   * @pattern ^\d{1,15}$
   */
  unchanged_since?: string;
}

export interface ImapCopyAnswer {
  /**
   * @min 0
   * @max 4294967295
   */
  uid_validity: number;
  /**
   * A number of the change log, as a decimal string. Also the space of MODSEQ.
   * @pattern ^\d{1,15}$
   */
  state: string;
  /**
   * Message id, UID in the first folder, UID in the other.
   * @example [["3f1c7a52-8a55-4f0e-9d53-0d7b1c5a6e21",17,43]]
   */
  copied: [string, number, number][];
}

export interface ImapCopy {
  /**
   * Id or role of the folder.
   * @minLength 1
   * @maxLength 100
   */
  from_folder_id: string;
  /**
   * Id or role of the folder.
   * @minLength 1
   * @maxLength 100
   */
  to_folder_id: string;
  /**
   * @maxItems 1000
   * @minItems 1
   */
  message_ids: string[];
  /** @default false */
  move?: boolean;
}

export interface ImapExpungeAnswer {
  /**
   * @min 0
   * @max 4294967295
   */
  uid_validity: number;
  /**
   * A number of the change log, as a decimal string. Also the space of MODSEQ.
   * @pattern ^\d{1,15}$
   */
  state: string;
  /**
   * Message id and UID.
   * @example [["3f1c7a52-8a55-4f0e-9d53-0d7b1c5a6e21",17]]
   */
  gone: [string, number][];
}

export interface ImapExpunge {
  /**
   * Id or role of the folder.
   * @minLength 1
   * @maxLength 100
   */
  folder_id: string;
  /**
   * @maxItems 1000
   * @minItems 1
   */
  message_ids: string[] | null;
}

export interface ImapSearchAnswer {
  /**
   * A number of the change log, as a decimal string. Also the space of MODSEQ.
   * @pattern ^\d{1,15}$
   */
  state: string;
  message_ids: string[];
}

export interface ImapSearch {
  /**
   * Id or role of the folder.
   * @minLength 1
   * @maxLength 100
   */
  folder_id: string;
  /**
   * A filter of `Email/query` of JMAP (RFC 8621 §4.4.1); null for every message.
   * @default null
   */
  filter?: Record<string, any> | null;
}

export interface ImapAppended {
  /**
   * @min 0
   * @max 4294967295
   */
  uid_validity: number;
  /**
   * A number of the change log, as a decimal string. Also the space of MODSEQ.
   * @pattern ^\d{1,15}$
   */
  state: string;
  /**
   * @min 0
   * @max 4294967295
   */
  uid: number;
  message_id: string;
}

export interface ImapSubmitted {
  /** The message in Sent. */
  message_id: string;
}

export namespace V1 {
  /**
   * @description Answers from the last verdict about the stores, which cron makes each minute. With an operator's token, probes every store at once.
   * @tags service
   * @name GetHealth
   * @summary Whether every store answers and every setting is valid
   * @request GET:/v1/health
   */
  export namespace GetHealth {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Health;
  }

  /**
   * No description
   * @tags identity
   * @name CreateUser
   * @summary Create a user
   * @request POST:/v1/iam/users
   * @secure
   */
  export namespace CreateUser {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @minLength 1
       * @maxLength 128
       */
      name: string;
      /**
       * @format email
       * @maxLength 254
       */
      email?: string;
      /**
       * Unique and immutable; the value of `aws:username`. Default: the user id.
       * @pattern ^[A-Za-z0-9+=,.@_-]{1,64}$
       */
      user_name?: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = User;
  }

  /**
   * No description
   * @tags identity
   * @name ListUsers
   * @summary List users
   * @request GET:/v1/iam/users
   * @secure
   */
  export namespace ListUsers {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: User[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags identity
   * @name GetUser
   * @summary Get a user
   * @request GET:/v1/iam/users/{user_id}
   * @secure
   */
  export namespace GetUser {
    export type RequestParams = {
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = User;
  }

  /**
   * No description
   * @tags identity
   * @name DeleteUser
   * @summary Delete a user and its mailbox. Fails while the user owns buckets
   * @request DELETE:/v1/iam/users/{user_id}
   * @secure
   */
  export namespace DeleteUser {
    export type RequestParams = {
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags identity
   * @name CreateAccessKey
   * @summary Create or import an access key. The secret is returned only here
   * @request POST:/v1/iam/users/{user_id}/access-keys
   * @secure
   */
  export namespace CreateAccessKey {
    export type RequestParams = {
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /** @pattern ^[A-Za-z0-9_.-]{3,128}$ */
      access_key_id?: string;
      /**
       * @minLength 8
       * @maxLength 128
       */
      secret_access_key?: string;
      /** @format date-time */
      expires_at?: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = NewAccessKey;
  }

  /**
   * No description
   * @tags identity
   * @name ListAccessKeys
   * @summary List the access keys of a user, without secrets
   * @request GET:/v1/iam/users/{user_id}/access-keys
   * @secure
   */
  export namespace ListAccessKeys {
    export type RequestParams = {
      userId: string;
    };
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: AccessKey[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags identity
   * @name DeleteAccessKey
   * @summary Revoke an access key
   * @request DELETE:/v1/iam/access-keys/{access_key_id}
   * @secure
   */
  export namespace DeleteAccessKey {
    export type RequestParams = {
      accessKeyId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags identity
   * @name CreateTemporaryKey
   * @summary Make a temporary key of an access key
   * @request POST:/v1/iam/access-keys/{access_key_id}/temporary-keys
   * @secure
   */
  export namespace CreateTemporaryKey {
    export type RequestParams = {
      /** @maxLength 128 */
      accessKeyId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * Life of the temporary key. It ends with its access key, if that ends earlier.
       * @min 1
       * @max 720
       * @default 60
       */
      minutes?: number;
      /**
       * The only bucket that the temporary key opens.
       * @pattern ^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$
       */
      bucket?: string;
      /**
       * Only objects whose keys begin with it. Needs `bucket`.
       * @maxLength 1024
       */
      prefix?: string;
      /**
       * Rights in `bucket`. `read`: read and list objects and versions. `write`: upload and delete objects. Default: read.
       * @maxItems 2
       * @minItems 1
       */
      actions?: ("read" | "write")[];
      /** A policy document of at most 2,048 characters, instead of `bucket`, `prefix` and `actions`. */
      policy?: Record<string, any>;
    };
    export type RequestHeaders = {};
    export type ResponseBody = TemporaryKey;
  }

  /**
   * No description
   * @tags identity
   * @name EndTemporaryKeys
   * @summary End the temporary keys of an access key, which stays
   * @request DELETE:/v1/iam/access-keys/{access_key_id}/temporary-keys
   * @secure
   */
  export namespace EndTemporaryKeys {
    export type RequestParams = {
      /** @maxLength 128 */
      accessKeyId: string;
    };
    export type RequestQuery = {
      /**
       * Keys made at this time or earlier end. Default: now.
       * @format date-time
       */
      made_before?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags identity
   * @name SetUserPolicy
   * @summary Set a policy of a user
   * @request PUT:/v1/iam/users/{user_id}/policies/{name}
   * @secure
   */
  export namespace SetUserPolicy {
    export type RequestParams = {
      userId: string;
      /** @pattern ^[\w+=,.@-]{1,128}$ */
      name: string;
    };
    export type RequestQuery = {};
    export type RequestBody = PolicyDocument;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags identity
   * @name GetUserPolicy
   * @summary Get a policy of a user
   * @request GET:/v1/iam/users/{user_id}/policies/{name}
   * @secure
   */
  export namespace GetUserPolicy {
    export type RequestParams = {
      userId: string;
      /** @pattern ^[\w+=,.@-]{1,128}$ */
      name: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = PolicyDocument;
  }

  /**
   * No description
   * @tags identity
   * @name DeleteUserPolicy
   * @summary Remove a policy of a user
   * @request DELETE:/v1/iam/users/{user_id}/policies/{name}
   * @secure
   */
  export namespace DeleteUserPolicy {
    export type RequestParams = {
      userId: string;
      /** @pattern ^[\w+=,.@-]{1,128}$ */
      name: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags identity
   * @name ListUserPolicies
   * @summary List the policies of a user
   * @request GET:/v1/iam/users/{user_id}/policies
   * @secure
   */
  export namespace ListUserPolicies {
    export type RequestParams = {
      userId: string;
    };
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: {
        name: string;
      }[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags identity
   * @name CreateToken
   * @summary Create a scoped token. The token is returned only here
   * @request POST:/v1/iam/tokens
   * @secure
   */
  export namespace CreateToken {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @minLength 1
       * @maxLength 128
       */
      name: string;
      user_id?: string;
      /** @minItems 1 */
      scopes: (
        | "scores:write"
        | "boards:create"
        | "objects:read"
        | "objects:write"
        | "mail"
        | "mail:read"
        | "mail:draft"
        | "mail:send"
        | "mail:codes"
        | "inbound"
        | "bridge"
        | "admin"
        | string
      )[];
      /** @format date-time */
      expires_at?: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = NewToken;
  }

  /**
   * No description
   * @tags identity
   * @name ListTokens
   * @summary List tokens, without their secrets
   * @request GET:/v1/iam/tokens
   * @secure
   */
  export namespace ListTokens {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
      user_id?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: Token[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags identity
   * @name DeleteToken
   * @summary Revoke a token
   * @request DELETE:/v1/iam/tokens/{token_id}
   * @secure
   */
  export namespace DeleteToken {
    export type RequestParams = {
      tokenId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags identity
   * @name ResealSecrets
   * @summary Seal every secret at rest with the current MASTER_KEY
   * @request POST:/v1/iam/reseal
   * @secure
   */
  export namespace ResealSecrets {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: ResealReport[];
    };
  }

  /**
   * No description
   * @tags identity
   * @name LoginOperator
   * @summary Log in as an operator: password and second factor
   * @request POST:/v1/operators/login
   */
  export namespace LoginOperator {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 128 */
      login: string;
      /** @maxLength 256 */
      password: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      passkey?: PasskeyAssertion;
      /**
       * @minLength 1
       * @maxLength 2048
       */
      turnstile?: string;
      /**
       * Proof of work `minute.number`: SHA-256 of `tessera login`, the lower-case address (or `operator ` and the login) and the proof, one per line, begins with 19 zero bits. The minute is that of now since 1970.
       * @maxLength 24
       */
      proof?: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = {
      operator: Operator;
      token: string;
      expires_at: string;
    };
  }

  /**
   * No description
   * @tags identity
   * @name LogoutOperator
   * @summary End the session of the operator
   * @request POST:/v1/operators/logout
   * @secure
   */
  export namespace LogoutOperator {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags identity
   * @name GetOwnOperator
   * @summary Read your own operator
   * @request GET:/v1/operators/me
   * @secure
   */
  export namespace GetOwnOperator {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Operator;
  }

  /**
   * No description
   * @tags identity
   * @name ChangeOwnOperatorPassword
   * @summary Change your password as an operator, and end your other sessions
   * @request POST:/v1/operators/me/password
   * @secure
   */
  export namespace ChangeOwnOperatorPassword {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      passkey?: PasskeyAssertion;
      /**
       * @minLength 12
       * @maxLength 256
       */
      new_password: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags identity
   * @name BeginOperatorPasskeyLogin
   * @summary Start to use a passkey as an operator: returns options for the browser, valid once and for five minutes
   * @request POST:/v1/operators/passkey/options
   */
  export namespace BeginOperatorPasskeyLogin {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = PasskeyRequestOptions;
  }

  /**
   * No description
   * @tags identity
   * @name LoginOperatorWithPasskey
   * @summary Log in as an operator with a passkey, which needs neither password nor code
   * @request POST:/v1/operators/passkey/login
   */
  export namespace LoginOperatorWithPasskey {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      response: PasskeyAssertion;
    };
    export type RequestHeaders = {};
    export type ResponseBody = {
      operator: Operator;
      token: string;
      expires_at: string;
    };
  }

  /**
   * No description
   * @tags identity
   * @name ListOperatorPasskeys
   * @summary List your passkeys as an operator, oldest first
   * @request GET:/v1/operators/me/passkeys
   * @secure
   */
  export namespace ListOperatorPasskeys {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: Passkey[];
      next_cursor: null;
    };
  }

  /**
   * No description
   * @tags identity
   * @name AddOperatorPasskey
   * @summary Add the passkey that a device made with the options
   * @request POST:/v1/operators/me/passkeys
   * @secure
   */
  export namespace AddOperatorPasskey {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @minLength 1
       * @maxLength 128
       */
      name: string;
      response: PasskeyRegistration;
    };
    export type RequestHeaders = {};
    export type ResponseBody = Passkey;
  }

  /**
   * No description
   * @tags identity
   * @name BeginOperatorPasskey
   * @summary Start adding a passkey as an operator: returns options for the browser, valid once and for five minutes
   * @request POST:/v1/operators/me/passkeys/options
   * @secure
   */
  export namespace BeginOperatorPasskey {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      passkey?: PasskeyAssertion;
    };
    export type RequestHeaders = {};
    export type ResponseBody = PasskeyCreationOptions;
  }

  /**
   * No description
   * @tags identity
   * @name DeleteOperatorPasskey
   * @summary Remove a passkey as an operator. Password and TOTP still log in
   * @request DELETE:/v1/operators/me/passkeys/{passkey_id}
   * @secure
   */
  export namespace DeleteOperatorPasskey {
    export type RequestParams = {
      /** @maxLength 1400 */
      passkeyId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      passkey?: PasskeyAssertion;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags identity
   * @name ListOperators
   * @summary List operators
   * @request GET:/v1/operators
   * @secure
   */
  export namespace ListOperators {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: Operator[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags identity
   * @name CreateOperator
   * @summary Create an operator. The secret of the second factor is returned only here
   * @request POST:/v1/operators
   * @secure
   */
  export namespace CreateOperator {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @pattern ^[A-Za-z0-9+=,.@_-]{1,128}$ */
      login: string;
      /**
       * @minLength 1
       * @maxLength 128
       */
      name: string;
      role: "admin" | "support" | "read";
      /**
       * @minLength 12
       * @maxLength 256
       */
      password: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = NewOperator;
  }

  /**
   * @description Another role than `admin` also revokes the tokens that the operator made.
   * @tags identity
   * @name UpdateOperator
   * @summary Change name, role, password or second factors of an operator; all but the name end its sessions
   * @request PATCH:/v1/operators/{operator_id}
   * @secure
   */
  export namespace UpdateOperator {
    export type RequestParams = {
      /** @maxLength 100 */
      operatorId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @minLength 1
       * @maxLength 128
       */
      name?: string;
      role?: "admin" | "support" | "read";
      /**
       * @minLength 12
       * @maxLength 256
       */
      password?: string;
      /** Returns a new secret */
      reset_totp?: true;
      /** Removes all passkeys */
      reset_passkeys?: true;
    };
    export type RequestHeaders = {};
    export type ResponseBody = ChangedOperator;
  }

  /**
   * No description
   * @tags identity
   * @name DeleteOperator
   * @summary Delete an operator, end its sessions and revoke the tokens that it made
   * @request DELETE:/v1/operators/{operator_id}
   * @secure
   */
  export namespace DeleteOperator {
    export type RequestParams = {
      /** @maxLength 100 */
      operatorId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags identity
   * @name GetSuspension
   * @summary Read whether a user is suspended
   * @request GET:/v1/accounts/{user_id}/suspension
   * @secure
   */
  export namespace GetSuspension {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Suspension;
  }

  /**
   * No description
   * @tags identity
   * @name SuspendUser
   * @summary Suspend a user: logins, sessions, tokens, access keys and sending stop; mail still arrives
   * @request PUT:/v1/accounts/{user_id}/suspension
   * @secure
   */
  export namespace SuspendUser {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @minLength 1
       * @maxLength 1000
       */
      reason: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = Suspension;
  }

  /**
   * No description
   * @tags identity
   * @name ResumeUser
   * @summary Lift the suspension of a user; everything works as before
   * @request DELETE:/v1/accounts/{user_id}/suspension
   * @secure
   */
  export namespace ResumeUser {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags identity
   * @name BeginSignIn
   * @summary Start a sign-in with the provider: returns its page, and sets a cookie for ten minutes
   * @request POST:/v1/auth/oidc
   */
  export namespace BeginSignIn {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** Purpose of the sign-in: a session of mail, a session of an operator, keys of storage, a connection to your account, or the confirmation of your session. */
      purpose: "mail" | "operator" | "storage" | "bind" | "confirm";
    };
    export type RequestHeaders = {};
    export type ResponseBody = {
      url: string;
    };
  }

  /**
   * No description
   * @tags identity
   * @name FinishSignIn
   * @summary Callback of the provider: leads to the page that began the sign-in
   * @request GET:/v1/auth/oidc/callback
   */
  export namespace FinishSignIn {
    export type RequestParams = {};
    export type RequestQuery = {
      code?: string;
      state?: string;
      error?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = any;
  }

  /**
   * No description
   * @tags identity
   * @name LogOutByProvider
   * @summary Back-channel log-out of the provider: ends the sessions of an account
   * @request POST:/v1/auth/oidc/logout
   */
  export namespace LogOutByProvider {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      logout_token: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags identity
   * @name LoginOperatorWithProvider
   * @summary Log in as an operator with what the provider said, after a sign-in for `operator`
   * @request POST:/v1/operators/oidc
   */
  export namespace LoginOperatorWithProvider {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      operator: Operator;
      token: string;
      expires_at: string;
    };
  }

  /**
   * No description
   * @tags identity
   * @name LoginOperatorWithAccess
   * @summary Log in as an operator with the token of Cloudflare Access, which its edge adds to the request
   * @request POST:/v1/operators/access
   */
  export namespace LoginOperatorWithAccess {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      operator: Operator;
      token: string;
      expires_at: string;
    };
  }

  /**
   * No description
   * @tags identity
   * @name CreateKeyWithProvider
   * @summary Make a temporary key of storage for an hour, after a sign-in for `storage`
   * @request POST:/v1/auth/oidc/storage
   */
  export namespace CreateKeyWithProvider {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = TemporaryKey;
  }

  /**
   * No description
   * @tags identity
   * @name ListUserSignIns
   * @summary List the accounts of the provider that open an account, oldest first
   * @request GET:/v1/accounts/{user_id}/sign-ins
   * @secure
   */
  export namespace ListUserSignIns {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: SignIn[];
      next_cursor: null;
    };
  }

  /**
   * No description
   * @tags identity
   * @name BindUserSignIn
   * @summary Let an account of the provider open this account. It is checked from its first sign-in on
   * @request POST:/v1/accounts/{user_id}/sign-ins
   * @secure
   */
  export namespace BindUserSignIn {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * The claim `sub` of the account
       * @minLength 1
       * @maxLength 255
       */
      subject: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = SignIn;
  }

  /**
   * No description
   * @tags identity
   * @name UnbindUserSignIn
   * @summary Stop an account of the provider from opening this account. Its open sessions go on
   * @request DELETE:/v1/accounts/{user_id}/sign-ins/{sign_in_id}
   * @secure
   */
  export namespace UnbindUserSignIn {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
      /** @maxLength 100 */
      signInId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags service
   * @name ListAuditEntries
   * @summary Read the audit log, newest first
   * @request GET:/v1/audit
   * @secure
   */
  export namespace ListAuditEntries {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
      action?:
        | "access_key.create"
        | "access_key.delete"
        | "access_key.rotate"
        | "account.delete"
        | "account.rebuild"
        | "account.release_sending"
        | "account.replay"
        | "account.restore"
        | "account.resume"
        | "account.suspend"
        | "account.update"
        | "address.create"
        | "address.delete"
        | "address_forward.delete"
        | "address_forward.update"
        | "agent.call"
        | "agent_message.approve"
        | "agent_message.decline"
        | "agent_recipients.set"
        | "audit.prune"
        | "board.delete"
        | "board.put"
        | "board.reset"
        | "board_logo.delete"
        | "board_logo.set"
        | "board_result.accept"
        | "board_result.refuse"
        | "board_webhook.delete"
        | "board_webhook.rotate"
        | "board_webhook.set"
        | "bucket.lifecycle"
        | "bucket.restore"
        | "bucket.take_down"
        | "bucket_policy.delete"
        | "collector.acknowledge"
        | "directory.rebuild"
        | "directory.replay"
        | "dkim_keys.create"
        | "domain.create"
        | "domain.delete"
        | "domain.update"
        | "forward_filter.set"
        | "forward_target.confirm"
        | "forward_target.create"
        | "forward_target.delete"
        | "invite.create"
        | "locations.check"
        | "locations.refill"
        | "locations.rescue"
        | "login.failed"
        | "login.new_place"
        | "login.second_factor_failed"
        | "mail.trace"
        | "mailbox.export"
        | "object.restore"
        | "object.take_down"
        | "operator.create"
        | "operator.delete"
        | "operator.login"
        | "operator.update"
        | "outbound.retry"
        | "passkey.create"
        | "passkey.delete"
        | "password.change"
        | "password.delete"
        | "password.reset"
        | "password_reset.create"
        | "password_rule.set"
        | "player.correct"
        | "player.erase"
        | "player.unban"
        | "policy.delete"
        | "policy.set"
        | "pull.end"
        | "pull.start"
        | "quarantine.delete"
        | "quarantine.read"
        | "quarantine.release"
        | "quota.delete"
        | "quota.set"
        | "recovery_address.confirm"
        | "recovery_address.delete"
        | "recovery_codes.replace"
        | "season.accept_loss"
        | "season.close"
        | "season.export"
        | "season.restore_shard"
        | "secrets.reseal"
        | "shard.rebuild"
        | "shard.replay"
        | "share_link.create"
        | "share_link.delete"
        | "sign_in.bind"
        | "sign_in.log_out"
        | "sign_in.pause"
        | "sign_in.resume"
        | "sign_in.unbind"
        | "slot.move"
        | "storage.doubt"
        | "storage.fsck"
        | "storage.gc"
        | "storage.scrub"
        | "storage.snapshot"
        | "storage_job.cancel"
        | "storage_job.end"
        | "storage_job.start"
        | "suppression.lift"
        | "temporary_key.create"
        | "temporary_key.end"
        | "token.create"
        | "token.delete"
        | "totp.disable"
        | "totp.enable"
        | "user.create"
        | "user.delete";
      /**
       * Id of the actor; `root` or `system` for these
       * @maxLength 200
       */
      actor?: string;
      /**
       * Id of the target
       * @maxLength 200
       */
      target?: string;
      /** @format date-time */
      since?: string;
      /** @format date-time */
      until?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: AuditEntry[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags service
   * @name ListCollectors
   * @summary What the collectors scanned, and their alarms
   * @request GET:/v1/collectors
   * @secure
   */
  export namespace ListCollectors {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: Collector[];
    };
  }

  /**
   * No description
   * @tags service
   * @name AcknowledgeCollector
   * @summary Acknowledge the alarm of a collector
   * @request POST:/v1/collectors/{collector}/acknowledge
   * @secure
   */
  export namespace AcknowledgeCollector {
    export type RequestParams = {
      collector:
        | "mail"
        | "storage"
        | "leaderboard"
        | "directory"
        | "s3-location";
    };
    export type RequestQuery = {};
    export type RequestBody = CollectorAcknowledgement;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags service
   * @name RefillLocations
   * @summary Copy objects that a location lacks from another one, after a bucket was lost
   * @request POST:/v1/locations/refill
   * @secure
   */
  export namespace RefillLocations {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = LocationRefill;
    export type RequestHeaders = {};
    export type ResponseBody = LocationRefillReport;
  }

  /**
   * No description
   * @tags service
   * @name CopyOutside
   * @summary Copy to the S3 location now, as cron does each minute
   * @request POST:/v1/locations/s3/copy
   * @secure
   */
  export namespace CopyOutside {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = S3LocationCopy;
    export type RequestHeaders = {};
    export type ResponseBody = S3LocationCopyReport;
  }

  /**
   * No description
   * @tags service
   * @name CheckOutside
   * @summary Compare the S3 location with R2, and its bytes with their MD5
   * @request POST:/v1/locations/s3/check
   * @secure
   */
  export namespace CheckOutside {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = S3LocationCheck;
    export type RequestHeaders = {};
    export type ResponseBody = S3LocationCheckReport;
  }

  /**
   * No description
   * @tags service
   * @name RescueFromOutside
   * @summary Fill the first R2 bucket of an empty installation
   * @request POST:/v1/locations/s3/rescue
   * @secure
   */
  export namespace RescueFromOutside {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = Rescue;
    export type RequestHeaders = {};
    export type ResponseBody = RescueReport;
  }

  /**
   * No description
   * @tags service
   * @name EndRescue
   * @summary End a rescue, after the rebuilds
   * @request POST:/v1/locations/s3/rescue/end
   * @secure
   */
  export namespace EndRescue {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = RescueEnd;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags service
   * @name GetMetrics
   * @summary Counters of this day and gauges of the stores, for Prometheus
   * @request GET:/v1/metrics
   * @secure
   */
  export namespace GetMetrics {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = string;
  }

  /**
   * No description
   * @tags service
   * @name GetMetricsHistory
   * @summary The last 24 hours, and the estimated cost of this month
   * @request GET:/v1/metrics/history
   * @secure
   */
  export namespace GetMetricsHistory {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = MetricsHistory;
  }

  /**
   * No description
   * @tags storage
   * @name DoubtStores
   * @summary Make a restore of databases to any earlier time noticeable. Call it right before the restore
   * @request POST:/v1/storage/doubt
   * @secure
   */
  export namespace DoubtStores {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * Names such as `OBJECTS_0` and `DIRECTORY`; null for all
       * @maxItems 1000
       * @default null
       * @example ["OBJECTS_0"]
       */
      stores?: string[] | null;
    };
    export type RequestHeaders = {};
    export type ResponseBody = {
      stores: {
        name: string;
        /** Null if the database was already put back, or is empty */
        number: number | null;
      }[];
    };
  }

  /**
   * No description
   * @tags storage
   * @name ReplayDirectory
   * @summary Replay the journal into DIRECTORY, which was put back to an earlier state
   * @request POST:/v1/storage/directory/replay
   * @secure
   */
  export namespace ReplayDirectory {
    export type RequestParams = {};
    export type RequestQuery = {
      /** Number of the database: 0 for `DIRECTORY`, n for `DIRECTORY_n` */
      database?: number;
    };
    export type RequestBody = {
      /**
       * @min 1
       * @max 300
       * @default 20
       */
      max_seconds?: number;
    };
    export type RequestHeaders = {};
    export type ResponseBody = {
      changes_replayed: number;
      buckets_recovered: number;
      finished: boolean;
    };
  }

  /**
   * No description
   * @tags storage
   * @name RebuildDirectory
   * @summary Rebuild an empty DIRECTORY from its newest snapshot and the buckets in the shards
   * @request POST:/v1/storage/directory/rebuild
   * @secure
   */
  export namespace RebuildDirectory {
    export type RequestParams = {};
    export type RequestQuery = {
      /** Number of the database: 0 for `DIRECTORY`, n for `DIRECTORY_n` */
      database?: number;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      snapshot: string | null;
      rows_restored: number;
      changes_replayed: number;
      buckets_recovered: number;
      finished: boolean;
    };
  }

  /**
   * @description The job runs in the background with the rights that you have at each step. It leaves alone what was written after it began, what Object Lock keeps, and what you may not change; `counts` and `obstacles` say so. `restore` needs a bucket that keeps versions: names that did not exist at the time get delete markers, and no bytes are copied.
   * @tags storage
   * @name CreateStorageJob
   * @summary Start a job over a bucket or a prefix
   * @request POST:/v1/storage/jobs
   * @secure
   */
  export namespace CreateStorageJob {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** `empty`: remove all versions, delete markers and open uploads. `delete`: delete objects, as S3 does by name. `restore`: make objects what they were at a time. `copy`: copy current objects to another prefix or bucket. `count`: count objects, versions and bytes. `pull`: pull versions from a bucket of another S3 server. */
      kind: "empty" | "delete" | "restore" | "copy" | "count" | "pull";
      /**
       * @minLength 3
       * @maxLength 63
       */
      bucket: string;
      /**
       * Names that begin with it; empty: the whole bucket
       * @maxLength 1024
       * @default ""
       */
      prefix?: string;
      /**
       * Of `restore`: the time
       * @format date-time
       */
      at?: string;
      /** Of `copy`: where the copies go. Its prefix replaces that of the names */
      target?: {
        /**
         * @minLength 3
         * @maxLength 63
         */
        bucket: string;
        /** @maxLength 1024 */
        prefix: string;
      };
      /** Of `pull`: the bucket to pull from */
      source?: {
        /**
         * Base URL of the server: `https://…`, a public name
         * @format uri
         * @maxLength 1000
         */
        endpoint: string;
        /**
         * @minLength 1
         * @maxLength 255
         */
        bucket: string;
        /**
         * Keys that begin with it. `prefix` of the job replaces it
         * @maxLength 1024
         * @default ""
         */
        prefix?: string;
        /**
         * @minLength 1
         * @maxLength 64
         * @default "us-east-1"
         */
        region?: string;
        /**
         * @minLength 1
         * @maxLength 256
         */
        access_key_id: string;
        /**
         * Kept encrypted until the job ends
         * @minLength 1
         * @maxLength 1024
         */
        secret_access_key: string;
      };
      /** Of `pull`: limits of its speed */
      rate?: {
        /** @min 1000 */
        bytes_per_second?: number;
        /**
         * @min 1
         * @max 10000
         */
        requests_per_second?: number;
      };
      /**
       * Change nothing, and report what would be changed
       * @default false
       */
      dry_run?: boolean;
    };
    export type RequestHeaders = {};
    export type ResponseBody = StorageJob;
  }

  /**
   * No description
   * @tags storage
   * @name ListStorageJobs
   * @summary List your jobs and those of your buckets, the newest first; an operator sees all
   * @request GET:/v1/storage/jobs
   * @secure
   */
  export namespace ListStorageJobs {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
      /**
       * @minLength 3
       * @maxLength 63
       */
      bucket?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: StorageJob[];
      next_cursor: string | null;
    };
  }

  /**
   * @description Jobs can be read for 30 days after their end.
   * @tags storage
   * @name GetStorageJob
   * @summary Read the progress of a job
   * @request GET:/v1/storage/jobs/{job_id}
   * @secure
   */
  export namespace GetStorageJob {
    export type RequestParams = {
      /** @maxLength 100 */
      jobId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = StorageJob;
  }

  /**
   * @description A step that is under way ends first: it may change up to 200 more objects.
   * @tags storage
   * @name CancelStorageJob
   * @summary Cancel a job; what it has done stays
   * @request POST:/v1/storage/jobs/{job_id}/cancel
   * @secure
   */
  export namespace CancelStorageJob {
    export type RequestParams = {
      /** @maxLength 100 */
      jobId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = StorageJob;
  }

  /**
   * No description
   * @tags storage
   * @name CreateShareLink
   * @summary Make a link by which anybody who has it reads an object or a prefix
   * @request POST:/v1/storage/links
   * @secure
   */
  export namespace CreateShareLink {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @minLength 3
       * @maxLength 63
       */
      bucket: string;
      /**
       * The object that the link opens
       * @minLength 1
       * @maxLength 1024
       */
      key?: string;
      /**
       * Or: the objects whose keys begin with it
       * @maxLength 1024
       */
      prefix?: string;
      /**
       * Of `key`: this version; without it, the newest one
       * @format uuid
       */
      version_id?: string;
      /**
       * At most a year. Default: 7 days
       * @format date-time
       */
      expires_at?: string;
      /**
       * The link opens only with it
       * @minLength 1
       * @maxLength 200
       */
      password?: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = NewShareLink;
  }

  /**
   * No description
   * @tags storage
   * @name ListShareLinks
   * @summary List your share links, the newest first; an operator sees all
   * @request GET:/v1/storage/links
   * @secure
   */
  export namespace ListShareLinks {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
      /** @maxLength 63 */
      bucket?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: ShareLink[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags storage
   * @name DeleteShareLink
   * @summary End a share link at once
   * @request DELETE:/v1/storage/links/{link_id}
   * @secure
   */
  export namespace DeleteShareLink {
    export type RequestParams = {
      /** @maxLength 100 */
      linkId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * @description A browser gets a page that lists a prefix, and one that asks for the password. Programs send the password by Basic authentication, with any user name, and get the list as JSON.
   * @tags storage
   * @name OpenShareLink
   * @summary Open a share link: the object as a download, or the objects of a prefix
   * @request GET:/v1/shared/{secret}
   */
  export namespace OpenShareLink {
    export type RequestParams = {
      /** @maxLength 80 */
      secret: string;
    };
    export type RequestQuery = {
      /**
       * Of a prefix: the object to download
       * @maxLength 1024
       */
      key?: string;
      /** @maxLength 2000 */
      cursor?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = SharedObjects;
  }

  /**
   * No description
   * @tags storage
   * @name UnlockShareLink
   * @summary Send the password of a share link, as the page for it does
   * @request POST:/v1/shared/{secret}
   */
  export namespace UnlockShareLink {
    export type RequestParams = {
      /** @maxLength 80 */
      secret: string;
    };
    export type RequestQuery = {};
    export type RequestBody = File;
    export type RequestHeaders = {};
    export type ResponseBody = any;
  }

  /**
   * @description Afterwards only the owner and callers that the ACL admits have access. If no policy is set, the answer is 204 too.
   * @tags storage
   * @name DeleteBucketPolicy
   * @summary Delete a bucket's policy, even if it denies this to its owner
   * @request DELETE:/v1/storage/buckets/{bucket}/policy
   * @secure
   */
  export namespace DeleteBucketPolicy {
    export type RequestParams = {
      bucket: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags storage
   * @name GetStorageStats
   * @summary Count objects, blobs and bytes by shard and by location
   * @request GET:/v1/storage/stats
   * @secure
   */
  export namespace GetStorageStats {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = StorageStats;
  }

  /**
   * No description
   * @tags storage
   * @name CollectStorageGarbage
   * @summary Reclaim storage that nothing refers to
   * @request POST:/v1/storage/gc
   * @secure
   */
  export namespace CollectStorageGarbage {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @default false */
      pack?: boolean;
      /**
       * @min 1
       * @max 300
       * @default 60
       */
      max_seconds?: number;
    };
    export type RequestHeaders = {};
    export type ResponseBody = StorageGcReport;
  }

  /**
   * No description
   * @tags storage
   * @name ScrubStorage
   * @summary Read every copy and repair bad ones
   * @request POST:/v1/storage/scrub
   * @secure
   */
  export namespace ScrubStorage {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @default true */
      restart?: boolean;
      /**
       * @min 1
       * @default 17179869184
       */
      max_bytes?: number;
      /**
       * @min 1
       * @max 300
       * @default 60
       */
      max_seconds?: number;
    };
    export type RequestHeaders = {};
    export type ResponseBody = StorageScrubReport;
  }

  /**
   * No description
   * @tags storage
   * @name CheckStorage
   * @summary Check the databases for consistency and against the locations
   * @request POST:/v1/storage/fsck
   * @secure
   */
  export namespace CheckStorage {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @default true */
      dry_run?: boolean;
      /** @default true */
      restart?: boolean;
      /**
       * @min 1
       * @max 300
       * @default 300
       */
      max_seconds?: number;
    };
    export type RequestHeaders = {};
    export type ResponseBody = StorageFsckReport;
  }

  /**
   * No description
   * @tags storage
   * @name SnapshotStorage
   * @summary Write the metadata of every shard and of DIRECTORY to the locations
   * @request POST:/v1/storage/snapshot
   * @secure
   */
  export namespace SnapshotStorage {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      shards: Record<string, any>[];
      directory: Record<string, any>;
      further_directories: Record<string, any>[];
    };
  }

  /**
   * No description
   * @tags storage
   * @name RebuildStorageShard
   * @summary Rebuild an empty shard database from its snapshot, its journal and the blobs
   * @request POST:/v1/storage/rebuild
   * @secure
   */
  export namespace RebuildStorageShard {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @min 0 */
      shard: number;
      /** @default false */
      restart?: boolean;
      /**
       * @min 1
       * @max 300
       * @default 20
       */
      max_seconds?: number;
    };
    export type RequestHeaders = {};
    export type ResponseBody = {
      snapshot: string | null;
      rows_restored: number;
      changes_replayed: number;
      journal_until: string | null;
      blobs_scanned: number;
      versions_recovered: number;
      volumes_recovered: number;
      versions_incomplete: number;
      finished: boolean;
    };
  }

  /**
   * No description
   * @tags storage
   * @name ReplayStorageShard
   * @summary Replay the journal into a shard database that was put back to an earlier state
   * @request POST:/v1/storage/replay
   * @secure
   */
  export namespace ReplayStorageShard {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @min 0 */
      shard: number;
      /**
       * @min 1
       * @max 300
       * @default 20
       */
      max_seconds?: number;
    };
    export type RequestHeaders = {};
    export type ResponseBody = {
      snapshot: string | null;
      rows_restored: number;
      changes_replayed: number;
      journal_until: string | null;
      blobs_scanned: number;
      versions_recovered: number;
      volumes_recovered: number;
      versions_incomplete: number;
      finished: boolean;
    };
  }

  /**
   * @description One request moves about 30 slots, because the queries of an invocation are limited. If `finished` is false, send the same request again. It continues with the remaining slots.
   * @tags storage
   * @name MoveStorageSlots
   * @summary Move slots of a bucket to another shard while it is in use
   * @request POST:/v1/storage/slots/move
   * @secure
   */
  export namespace MoveStorageSlots {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      bucket: string;
      /** @min 0 */
      to_shard: number;
      /**
       * @maxItems 256
       * @minItems 1
       */
      slots: number[];
    };
    export type RequestHeaders = {};
    export type ResponseBody = {
      moved: number;
      versions: number;
      bytes: number;
      finished: boolean;
    };
  }

  /**
   * No description
   * @tags storage
   * @name GetTakeDown
   * @summary Read whether a bucket or an object is taken down
   * @request GET:/v1/storage/buckets/{bucket}/take-down
   * @secure
   */
  export namespace GetTakeDown {
    export type RequestParams = {
      /** @maxLength 63 */
      bucket: string;
    };
    export type RequestQuery = {
      /**
       * An object; without it, the whole bucket
       * @minLength 1
       * @maxLength 1024
       */
      name?: string;
      /**
       * Default: the current version
       * @maxLength 100
       */
      version_id?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = TakeDown;
  }

  /**
   * No description
   * @tags storage
   * @name TakeDown
   * @summary Take a bucket or a version of an object down; the bytes are kept
   * @request PUT:/v1/storage/buckets/{bucket}/take-down
   * @secure
   */
  export namespace TakeDown {
    export type RequestParams = {
      /** @maxLength 63 */
      bucket: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * An object; without it, the whole bucket
       * @minLength 1
       * @maxLength 1024
       */
      name?: string;
      /**
       * Default: the current version
       * @maxLength 100
       */
      version_id?: string;
      /**
       * @minLength 1
       * @maxLength 1000
       */
      reason: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags storage
   * @name LiftTakeDown
   * @summary Lift the take-down of a bucket or a version of an object
   * @request DELETE:/v1/storage/buckets/{bucket}/take-down
   * @secure
   */
  export namespace LiftTakeDown {
    export type RequestParams = {
      /** @maxLength 63 */
      bucket: string;
    };
    export type RequestQuery = {
      /**
       * An object; without it, the whole bucket
       * @minLength 1
       * @maxLength 1024
       */
      name?: string;
      /**
       * Default: the current version
       * @maxLength 100
       */
      version_id?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * @description Counts every version, so it takes about a second for 100,000 of them. Changes during the count may or may not be in it. `bytes` includes old versions and the parts of open uploads; `versions` leaves out delete markers.
   * @tags storage
   * @name GetStorageUsage
   * @summary Count what a bucket, or all buckets of a user, have stored
   * @request GET:/v1/storage/usage
   * @secure
   */
  export namespace GetStorageUsage {
    export type RequestParams = {};
    export type RequestQuery = {
      /** @maxLength 63 */
      bucket?: string;
      /** @maxLength 100 */
      user_id?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = StorageUsage;
  }

  /**
   * No description
   * @tags storage
   * @name GetUserQuota
   * @summary Read the storage quota of a user
   * @request GET:/v1/storage/quotas/users/{user_id}
   * @secure
   */
  export namespace GetUserQuota {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = StorageQuota;
  }

  /**
   * @description Replaces the quota. An upload that would exceed it is 403 `QuotaExceeded`. A limit below what is stored deletes nothing. The first time, everything stored is counted.
   * @tags storage
   * @name SetUserQuota
   * @summary Set the storage quota of a user
   * @request PUT:/v1/storage/quotas/users/{user_id}
   * @secure
   */
  export namespace SetUserQuota {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @min 0
       * @max 9007199254740991
       */
      bytes?: number;
      /**
       * @min 0
       * @max 9007199254740991
       */
      objects?: number;
    };
    export type RequestHeaders = {};
    export type ResponseBody = StorageQuota;
  }

  /**
   * No description
   * @tags storage
   * @name DeleteUserQuota
   * @summary Remove the storage quota of a user
   * @request DELETE:/v1/storage/quotas/users/{user_id}
   * @secure
   */
  export namespace DeleteUserQuota {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags storage
   * @name GetBucketQuota
   * @summary Read the storage quota of a bucket
   * @request GET:/v1/storage/quotas/buckets/{bucket}
   * @secure
   */
  export namespace GetBucketQuota {
    export type RequestParams = {
      /** @maxLength 100 */
      bucket: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = StorageQuota;
  }

  /**
   * @description Replaces the quota. An upload that would exceed it is 403 `QuotaExceeded`. A limit below what is stored deletes nothing. The first time, everything stored is counted.
   * @tags storage
   * @name SetBucketQuota
   * @summary Set the storage quota of a bucket
   * @request PUT:/v1/storage/quotas/buckets/{bucket}
   * @secure
   */
  export namespace SetBucketQuota {
    export type RequestParams = {
      /** @maxLength 100 */
      bucket: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @min 0
       * @max 9007199254740991
       */
      bytes?: number;
      /**
       * @min 0
       * @max 9007199254740991
       */
      objects?: number;
    };
    export type RequestHeaders = {};
    export type ResponseBody = StorageQuota;
  }

  /**
   * No description
   * @tags storage
   * @name DeleteBucketQuota
   * @summary Remove the storage quota of a bucket
   * @request DELETE:/v1/storage/quotas/buckets/{bucket}
   * @secure
   */
  export namespace DeleteBucketQuota {
    export type RequestParams = {
      /** @maxLength 100 */
      bucket: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags leaderboard
   * @name AddScore
   * @summary Add the points of a win that the game server has validated
   * @request POST:/v1/scores
   * @secure
   */
  export namespace AddScore {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = ScoreUpdate;
    export type RequestHeaders = {};
    export type ResponseBody = ScoredPlayer;
  }

  /**
   * No description
   * @tags leaderboard
   * @name ListScores
   * @summary The best players. A stream with `Accept: text/event-stream` or a WebSocket upgrade
   * @request GET:/v1/scores
   */
  export namespace ListScores {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 100
       * @default 10
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
      /**
       * @pattern ^\d{4}-(0[1-9]|1[0-2])$
       * @example "2026-11"
       */
      season?: string;
      /** Up to 100 ids, separated by commas. Not with limit or cursor */
      user_ids?: string;
      /** With `user_ids`: ranks are those among these players */
      among?: "1";
      /**
       * Starts at the first player whose rank is not better. Not with cursor or user_ids
       * @min 1
       * @max 9007199254740991
       */
      from_rank?: number;
      /** Asks every shard: the answer is as of now, or 503 */
      exact?: "1";
      /**
       * `as_of` of the answer is not earlier, or it is 503. With `written_at` of a post, the answer counts that post
       * @format date-time
       */
      min_as_of?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Leaderboard;
  }

  /**
   * No description
   * @tags leaderboard
   * @name AddScores
   * @summary Add up to 1,000 wins. Each succeeds or fails by itself
   * @request POST:/v1/scores/batch
   * @secure
   */
  export namespace AddScores {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      updates: ScoreUpdate[];
    };
    export type RequestHeaders = {};
    export type ResponseBody = {
      results: (ScoredPlayer | RefusedUpdate)[];
    };
  }

  /**
   * No description
   * @tags leaderboard
   * @name GetScore
   * @summary Score, rank and percentile of one player
   * @request GET:/v1/scores/{user_id}
   */
  export namespace GetScore {
    export type RequestParams = {
      /**
       * @pattern ^(?!\.{1,2}$)[A-Za-z0-9._:@-]{1,64}$
       * @example "player-7f3a"
       */
      userId: string;
    };
    export type RequestQuery = {
      /**
       * @pattern ^\d{4}-(0[1-9]|1[0-2])$
       * @example "2026-11"
       */
      season?: string;
      /** Asks every shard: the answer is as of now, or 503 */
      exact?: "1";
      /**
       * `as_of` of the answer is not earlier, or it is 503. With `written_at` of a post, the answer counts that post
       * @format date-time
       */
      min_as_of?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = LeaderboardPlayer;
  }

  /**
   * No description
   * @tags leaderboard
   * @name CorrectScore
   * @summary Correct a score, hide a banned player or show one again. The reason is kept in the audit log
   * @request PATCH:/v1/scores/{user_id}
   * @secure
   */
  export namespace CorrectScore {
    export type RequestParams = {
      /**
       * @pattern ^(?!\.{1,2}$)[A-Za-z0-9._:@-]{1,64}$
       * @example "player-7f3a"
       */
      userId: string;
    };
    export type RequestQuery = {
      /**
       * The current or a past season. Default: the current one.
       * @pattern ^\d{4}-(0[1-9]|1[0-2])$
       * @example "2026-11"
       */
      season?: string;
    };
    export type RequestBody = ScoreCorrection;
    export type RequestHeaders = {};
    export type ResponseBody = {
      user_info: {
        user_id: string;
        user_name: string;
        score: number;
        /** Null while hidden */
        rank: number | null;
        /** Present if the rank is an estimate: other players have scores near this one. A read of the player is exact */
        rank_exact?: false;
        season: string;
        hidden: boolean;
      };
    };
  }

  /**
   * No description
   * @tags leaderboard
   * @name ErasePlayer
   * @summary Delete a player permanently, in one season or in all. Other players keep their ranks in past seasons
   * @request DELETE:/v1/scores/{user_id}
   * @secure
   */
  export namespace ErasePlayer {
    export type RequestParams = {
      /**
       * @pattern ^(?!\.{1,2}$)[A-Za-z0-9._:@-]{1,64}$
       * @example "player-7f3a"
       */
      userId: string;
    };
    export type RequestQuery = {
      /**
       * Erases the player in this season only; default: in every season of the board.
       * @pattern ^\d{4}-(0[1-9]|1[0-2])$
       * @example "2026-11"
       */
      season?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = PlayerErasure;
  }

  /**
   * No description
   * @tags leaderboard
   * @name ListNeighbors
   * @summary The players above and below one
   * @request GET:/v1/scores/{user_id}/neighbors
   */
  export namespace ListNeighbors {
    export type RequestParams = {
      /**
       * @pattern ^(?!\.{1,2}$)[A-Za-z0-9._:@-]{1,64}$
       * @example "player-7f3a"
       */
      userId: string;
    };
    export type RequestQuery = {
      /**
       * @min 0
       * @max 50
       * @default 4
       */
      radius?: number | null;
      /** At an end of the list, more players of the other side: the window has as many as in the middle */
      full?: "1";
      /**
       * @pattern ^\d{4}-(0[1-9]|1[0-2])$
       * @example "2026-11"
       */
      season?: string;
      /** Asks every shard: the answer is as of now, or 503 */
      exact?: "1";
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = LeaderboardNeighbors;
  }

  /**
   * No description
   * @tags leaderboard
   * @name FindPlayers
   * @summary Find players by the beginning of their names. Without `find_by_name` of the board, only for operators
   * @request GET:/v1/players
   */
  export namespace FindPlayers {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * Beginning of the name. Case does not matter
       * @minLength 1
       * @maxLength 64
       * @example "Gra"
       */
      name: string;
      /**
       * @pattern ^\d{4}-(0[1-9]|1[0-2])$
       * @example "2026-11"
       */
      season?: string;
      /**
       * @min 1
       * @max 50
       * @default 20
       */
      limit?: number;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Leaderboard;
  }

  /**
   * No description
   * @tags leaderboard
   * @name ListSeasons
   * @summary The seasons, newest first
   * @request GET:/v1/seasons
   */
  export namespace ListSeasons {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: Season[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags leaderboard
   * @name ExportSeason
   * @summary The whole standings as CSV. If the stream is cut, continue after the last player
   * @request GET:/v1/seasons/{season}/export
   * @secure
   */
  export namespace ExportSeason {
    export type RequestParams = {
      /**
       * @pattern ^\d{4}-(0[1-9]|1[0-2])$
       * @example "2026-11"
       */
      season: string;
    };
    export type RequestQuery = {
      /**
       * Continues after this player, the last of a stream that was cut
       * @pattern ^(?!\.{1,2}$)[A-Za-z0-9._:@-]{1,64}$
       * @example "player-7f3a"
       */
      after?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = string;
  }

  /**
   * No description
   * @tags leaderboard
   * @name ListShards
   * @summary The parts of a live season, and which of them do not answer
   * @request GET:/v1/seasons/{season}/shards
   * @secure
   */
  export namespace ListShards {
    export type RequestParams = {
      /**
       * @pattern ^\d{4}-(0[1-9]|1[0-2])$
       * @example "2026-11"
       */
      season: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = LeaderboardShards;
  }

  /**
   * No description
   * @tags leaderboard
   * @name CloseSeason
   * @summary Close a season that is over, without waiting for the next minute, or without shards that do not answer
   * @request POST:/v1/seasons/{season}/close
   * @secure
   */
  export namespace CloseSeason {
    export type RequestParams = {
      /**
       * @pattern ^\d{4}-(0[1-9]|1[0-2])$
       * @example "2026-11"
       */
      season: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /** Numbers of shards that may be missing if they do not answer */
      without?: number[];
    };
    export type RequestHeaders = {};
    export type ResponseBody = Season;
  }

  /**
   * No description
   * @tags leaderboard
   * @name GetScoreDistribution
   * @summary Players per range of scores, in at most `limit` ranges of equal width
   * @request GET:/v1/seasons/{season}/distribution
   */
  export namespace GetScoreDistribution {
    export type RequestParams = {
      /**
       * @pattern ^\d{4}-(0[1-9]|1[0-2])$
       * @example "2026-11"
       */
      season: string;
    };
    export type RequestQuery = {
      /**
       * @min 1
       * @max 50
       * @default 20
       */
      limit?: number;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = LeaderboardDistribution;
  }

  /**
   * No description
   * @tags leaderboard
   * @name AcceptShardLoss
   * @summary Continue with the players that a shard still has, after it lost others
   * @request POST:/v1/seasons/{season}/shards/{shard}/accept-loss
   * @secure
   */
  export namespace AcceptShardLoss {
    export type RequestParams = {
      /**
       * @pattern ^\d{4}-(0[1-9]|1[0-2])$
       * @example "2026-11"
       */
      season: string;
      /** @min 0 */
      shard?: number | null;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      shard: number;
      players: number;
    };
  }

  /**
   * No description
   * @tags leaderboard
   * @name RestoreShard
   * @summary Restore a shard that has lost its players from its copy, which is at most about an hour old
   * @request POST:/v1/seasons/{season}/shards/{shard}/restore
   * @secure
   */
  export namespace RestoreShard {
    export type RequestParams = {
      /**
       * @pattern ^\d{4}-(0[1-9]|1[0-2])$
       * @example "2026-11"
       */
      season: string;
      /** @min 0 */
      shard?: number | null;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      shard: number;
      players: number;
      as_of: string;
    };
  }

  /**
   * No description
   * @tags leaderboard
   * @name AddScoreOfBoard
   * @summary Add the points of a win that the game server has validated
   * @request POST:/v1/boards/{board}/scores
   * @secure
   */
  export namespace AddScoreOfBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {};
    export type RequestBody = BoardScoreUpdate;
    export type RequestHeaders = {};
    export type ResponseBody = ScoredPlayer;
  }

  /**
   * No description
   * @tags leaderboard
   * @name ListScoresOfBoard
   * @summary The best players. A stream with `Accept: text/event-stream` or a WebSocket upgrade
   * @request GET:/v1/boards/{board}/scores
   */
  export namespace ListScoresOfBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {
      /**
       * @min 1
       * @max 100
       * @default 10
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
      /**
       * A month, a week of ISO 8601, a day, `all` for a board without periods, or start and end. After a reset, `.` and its time follow. All in UTC
       * @pattern ^(\d{4}-(\d\d(-\d\d)?|W\d\d)|all|\d{8}T\d{6}Z--\d{8}T\d{6}Z)(\.\d{8}T\d{6}Z)?$
       * @example "2026-W47"
       */
      season?: string;
      /** Up to 100 ids, separated by commas. Not with limit or cursor */
      user_ids?: string;
      /** With `user_ids`: ranks are those among these players */
      among?: "1";
      /**
       * Starts at the first player whose rank is not better. Not with cursor or user_ids
       * @min 1
       * @max 9007199254740991
       */
      from_rank?: number;
      /** Asks every shard: the answer is as of now, or 503 */
      exact?: "1";
      /**
       * `as_of` of the answer is not earlier, or it is 503. With `written_at` of a post, the answer counts that post
       * @format date-time
       */
      min_as_of?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Leaderboard;
  }

  /**
   * No description
   * @tags leaderboard
   * @name AddScoresOfBoard
   * @summary Add up to 1,000 wins. Each succeeds or fails by itself
   * @request POST:/v1/boards/{board}/scores/batch
   * @secure
   */
  export namespace AddScoresOfBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      updates: BoardScoreUpdate[];
    };
    export type RequestHeaders = {};
    export type ResponseBody = {
      results: (ScoredPlayer | RefusedUpdate)[];
    };
  }

  /**
   * No description
   * @tags leaderboard
   * @name GetScoreOfBoard
   * @summary Score, rank and percentile of one player
   * @request GET:/v1/boards/{board}/scores/{user_id}
   */
  export namespace GetScoreOfBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
      /**
       * @pattern ^(?!\.{1,2}$)[A-Za-z0-9._:@-]{1,64}$
       * @example "player-7f3a"
       */
      userId: string;
    };
    export type RequestQuery = {
      /**
       * A month, a week of ISO 8601, a day, `all` for a board without periods, or start and end. After a reset, `.` and its time follow. All in UTC
       * @pattern ^(\d{4}-(\d\d(-\d\d)?|W\d\d)|all|\d{8}T\d{6}Z--\d{8}T\d{6}Z)(\.\d{8}T\d{6}Z)?$
       * @example "2026-W47"
       */
      season?: string;
      /** Asks every shard: the answer is as of now, or 503 */
      exact?: "1";
      /**
       * `as_of` of the answer is not earlier, or it is 503. With `written_at` of a post, the answer counts that post
       * @format date-time
       */
      min_as_of?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = LeaderboardPlayer;
  }

  /**
   * No description
   * @tags leaderboard
   * @name CorrectScoreOfBoard
   * @summary Correct a score, hide a banned player or show one again. The reason is kept in the audit log
   * @request PATCH:/v1/boards/{board}/scores/{user_id}
   * @secure
   */
  export namespace CorrectScoreOfBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
      /**
       * @pattern ^(?!\.{1,2}$)[A-Za-z0-9._:@-]{1,64}$
       * @example "player-7f3a"
       */
      userId: string;
    };
    export type RequestQuery = {
      /**
       * The current or a past season. Default: the current one.
       * @pattern ^(\d{4}-(\d\d(-\d\d)?|W\d\d)|all|\d{8}T\d{6}Z--\d{8}T\d{6}Z)(\.\d{8}T\d{6}Z)?$
       * @example "2026-W47"
       */
      season?: string;
    };
    export type RequestBody = ScoreCorrection;
    export type RequestHeaders = {};
    export type ResponseBody = {
      user_info: {
        user_id: string;
        user_name: string;
        score: number;
        /** Null while hidden */
        rank: number | null;
        /** Present if the rank is an estimate: other players have scores near this one. A read of the player is exact */
        rank_exact?: false;
        season: string;
        hidden: boolean;
      };
    };
  }

  /**
   * No description
   * @tags leaderboard
   * @name ErasePlayerOfBoard
   * @summary Delete a player permanently, in one season or in all. Other players keep their ranks in past seasons
   * @request DELETE:/v1/boards/{board}/scores/{user_id}
   * @secure
   */
  export namespace ErasePlayerOfBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
      /**
       * @pattern ^(?!\.{1,2}$)[A-Za-z0-9._:@-]{1,64}$
       * @example "player-7f3a"
       */
      userId: string;
    };
    export type RequestQuery = {
      /**
       * Erases the player in this season only; default: in every season of the board.
       * @pattern ^(\d{4}-(\d\d(-\d\d)?|W\d\d)|all|\d{8}T\d{6}Z--\d{8}T\d{6}Z)(\.\d{8}T\d{6}Z)?$
       * @example "2026-W47"
       */
      season?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = PlayerErasure;
  }

  /**
   * No description
   * @tags leaderboard
   * @name ListNeighborsOfBoard
   * @summary The players above and below one
   * @request GET:/v1/boards/{board}/scores/{user_id}/neighbors
   */
  export namespace ListNeighborsOfBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
      /**
       * @pattern ^(?!\.{1,2}$)[A-Za-z0-9._:@-]{1,64}$
       * @example "player-7f3a"
       */
      userId: string;
    };
    export type RequestQuery = {
      /**
       * @min 0
       * @max 50
       * @default 4
       */
      radius?: number | null;
      /** At an end of the list, more players of the other side: the window has as many as in the middle */
      full?: "1";
      /**
       * A month, a week of ISO 8601, a day, `all` for a board without periods, or start and end. After a reset, `.` and its time follow. All in UTC
       * @pattern ^(\d{4}-(\d\d(-\d\d)?|W\d\d)|all|\d{8}T\d{6}Z--\d{8}T\d{6}Z)(\.\d{8}T\d{6}Z)?$
       * @example "2026-W47"
       */
      season?: string;
      /** Asks every shard: the answer is as of now, or 503 */
      exact?: "1";
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = LeaderboardNeighbors;
  }

  /**
   * No description
   * @tags leaderboard
   * @name FindPlayersOfBoard
   * @summary Find players by the beginning of their names. Without `find_by_name` of the board, only for operators
   * @request GET:/v1/boards/{board}/players
   */
  export namespace FindPlayersOfBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {
      /**
       * Beginning of the name. Case does not matter
       * @minLength 1
       * @maxLength 64
       * @example "Gra"
       */
      name: string;
      /**
       * A month, a week of ISO 8601, a day, `all` for a board without periods, or start and end. After a reset, `.` and its time follow. All in UTC
       * @pattern ^(\d{4}-(\d\d(-\d\d)?|W\d\d)|all|\d{8}T\d{6}Z--\d{8}T\d{6}Z)(\.\d{8}T\d{6}Z)?$
       * @example "2026-W47"
       */
      season?: string;
      /**
       * @min 1
       * @max 50
       * @default 20
       */
      limit?: number;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Leaderboard;
  }

  /**
   * No description
   * @tags leaderboard
   * @name ListSeasonsOfBoard
   * @summary The seasons, newest first
   * @request GET:/v1/boards/{board}/seasons
   */
  export namespace ListSeasonsOfBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: Season[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags leaderboard
   * @name ExportSeasonOfBoard
   * @summary The whole standings as CSV. If the stream is cut, continue after the last player
   * @request GET:/v1/boards/{board}/seasons/{season}/export
   * @secure
   */
  export namespace ExportSeasonOfBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
      /**
       * A month, a week of ISO 8601, a day, `all` for a board without periods, or start and end. After a reset, `.` and its time follow. All in UTC
       * @pattern ^(\d{4}-(\d\d(-\d\d)?|W\d\d)|all|\d{8}T\d{6}Z--\d{8}T\d{6}Z)(\.\d{8}T\d{6}Z)?$
       * @example "2026-W47"
       */
      season: string;
    };
    export type RequestQuery = {
      /**
       * Continues after this player, the last of a stream that was cut
       * @pattern ^(?!\.{1,2}$)[A-Za-z0-9._:@-]{1,64}$
       * @example "player-7f3a"
       */
      after?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = string;
  }

  /**
   * No description
   * @tags leaderboard
   * @name ListShardsOfBoard
   * @summary The parts of a live season, and which of them do not answer
   * @request GET:/v1/boards/{board}/seasons/{season}/shards
   * @secure
   */
  export namespace ListShardsOfBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
      /**
       * A month, a week of ISO 8601, a day, `all` for a board without periods, or start and end. After a reset, `.` and its time follow. All in UTC
       * @pattern ^(\d{4}-(\d\d(-\d\d)?|W\d\d)|all|\d{8}T\d{6}Z--\d{8}T\d{6}Z)(\.\d{8}T\d{6}Z)?$
       * @example "2026-W47"
       */
      season: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = LeaderboardShards;
  }

  /**
   * No description
   * @tags leaderboard
   * @name CloseSeasonOfBoard
   * @summary Close a season that is over, without waiting for the next minute, or without shards that do not answer
   * @request POST:/v1/boards/{board}/seasons/{season}/close
   * @secure
   */
  export namespace CloseSeasonOfBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
      /**
       * A month, a week of ISO 8601, a day, `all` for a board without periods, or start and end. After a reset, `.` and its time follow. All in UTC
       * @pattern ^(\d{4}-(\d\d(-\d\d)?|W\d\d)|all|\d{8}T\d{6}Z--\d{8}T\d{6}Z)(\.\d{8}T\d{6}Z)?$
       * @example "2026-W47"
       */
      season: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /** Numbers of shards that may be missing if they do not answer */
      without?: number[];
    };
    export type RequestHeaders = {};
    export type ResponseBody = Season;
  }

  /**
   * No description
   * @tags leaderboard
   * @name GetScoreDistributionOfBoard
   * @summary Players per range of scores, in at most `limit` ranges of equal width
   * @request GET:/v1/boards/{board}/seasons/{season}/distribution
   */
  export namespace GetScoreDistributionOfBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
      /**
       * A month, a week of ISO 8601, a day, `all` for a board without periods, or start and end. After a reset, `.` and its time follow. All in UTC
       * @pattern ^(\d{4}-(\d\d(-\d\d)?|W\d\d)|all|\d{8}T\d{6}Z--\d{8}T\d{6}Z)(\.\d{8}T\d{6}Z)?$
       * @example "2026-W47"
       */
      season: string;
    };
    export type RequestQuery = {
      /**
       * @min 1
       * @max 50
       * @default 20
       */
      limit?: number;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = LeaderboardDistribution;
  }

  /**
   * No description
   * @tags leaderboard
   * @name AcceptShardLossOfBoard
   * @summary Continue with the players that a shard still has, after it lost others
   * @request POST:/v1/boards/{board}/seasons/{season}/shards/{shard}/accept-loss
   * @secure
   */
  export namespace AcceptShardLossOfBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
      /**
       * A month, a week of ISO 8601, a day, `all` for a board without periods, or start and end. After a reset, `.` and its time follow. All in UTC
       * @pattern ^(\d{4}-(\d\d(-\d\d)?|W\d\d)|all|\d{8}T\d{6}Z--\d{8}T\d{6}Z)(\.\d{8}T\d{6}Z)?$
       * @example "2026-W47"
       */
      season: string;
      /** @min 0 */
      shard?: number | null;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      shard: number;
      players: number;
    };
  }

  /**
   * No description
   * @tags leaderboard
   * @name RestoreShardOfBoard
   * @summary Restore a shard that has lost its players from its copy, which is at most about an hour old
   * @request POST:/v1/boards/{board}/seasons/{season}/shards/{shard}/restore
   * @secure
   */
  export namespace RestoreShardOfBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
      /**
       * A month, a week of ISO 8601, a day, `all` for a board without periods, or start and end. After a reset, `.` and its time follow. All in UTC
       * @pattern ^(\d{4}-(\d\d(-\d\d)?|W\d\d)|all|\d{8}T\d{6}Z--\d{8}T\d{6}Z)(\.\d{8}T\d{6}Z)?$
       * @example "2026-W47"
       */
      season: string;
      /** @min 0 */
      shard?: number | null;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      shard: number;
      players: number;
      as_of: string;
    };
  }

  /**
   * No description
   * @tags leaderboard
   * @name ListBoards
   * @summary The public boards beside `default`. Operators also see the others
   * @request GET:/v1/boards
   */
  export namespace ListBoards {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
      /**
       * Only boards whose names begin with it
       * @pattern ^[a-z0-9][a-z0-9-]{0,30}$
       */
      prefix?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: Board[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags leaderboard
   * @name PutDefaultBoard
   * @summary Change the title of the board `default`, and how many seasons it keeps. Its other members never change, and may be left out
   * @request PUT:/v1/boards/default
   * @secure
   */
  export namespace PutDefaultBoard {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @minLength 1
       * @maxLength 64
       * @example "Fastest laps"
       */
      title: string;
      /** `asc`: a lower score is better, as for race times */
      sort?: "desc" | "asc";
      /** How the points of several posts make one score */
      operator?: "sum" | "best" | "last";
      /** A season of the board. Weeks begin on Monday. All in UTC. `custom` needs `schedule` */
      period?: "month" | "week" | "day" | "none" | "custom";
      /** Whether everyone may read it */
      public?: boolean;
      /**
       * @min 1
       * @max 4294967295
       * @default 1000000
       */
      max_points_per_post?: number;
      /**
       * Whether points and scores may be negative. It never changes
       * @default false
       */
      negative?: boolean;
      /**
       * Decimals with which pages show scores: 2 shows 1234 as 12.34. Points and scores of the API stay integers
       * @min 0
       * @max 6
       * @default 0
       */
      decimals?: number;
      /**
       * Minimum of seconds between two posts of a player; null without one
       * @min 1
       * @max 86400
       * @default null
       */
      seconds_between_posts?: number | null;
      /**
       * Maximum length of the data of an entry, in bytes of JSON; null for a board without data
       * @min 1
       * @max 1024
       * @default null
       */
      max_data_bytes?: number | null;
      /**
       * `required`: pages may begin plays and send their results. Game servers may post in any case
       * @default "off"
       */
      sessions?: "off" | "required";
      /**
       * Rules of plays; null without sessions, or for the defaults
       * @default null
       */
      session_rules?: {
        /**
         * Origins of the pages that may begin plays. No page of another origin may
         * @maxItems 20
         * @default []
         */
        origins?: string[];
        /**
         * From the begin of a play to its result
         * @min 0
         * @max 86400
         * @default 0
         */
        least_seconds?: number;
        /**
         * @min -2147483648
         * @max 4294967295
         * @default 0
         */
        least_points?: number;
        /**
         * @min -2147483648
         * @max 4294967295
         * @default null
         */
        most_points?: number | null;
        /**
         * @exclusiveMin 0
         * @max 4294967295
         * @default null
         */
        most_points_per_second?: number | null;
        /**
         * Whether the webhook of the board judges each result that breaks no rule
         * @default false
         */
        judged?: boolean;
      };
      /**
       * Maximum of points that a player gets in a day of UTC; null without a limit. Needs the operator `sum`
       * @min 1
       * @max 9007199254740991
       * @default null
       */
      max_points_per_day?: number | null;
      /**
       * Number of past seasons that are kept; null for all. Older ones are erased for good
       * @min 1
       * @max 10000
       * @default null
       */
      seasons_kept?: number | null;
      /**
       * Whether everyone may search its players by the beginning of their names
       * @default false
       */
      find_by_name?: boolean;
    };
    export type RequestHeaders = {};
    export type ResponseBody = Board;
  }

  /**
   * No description
   * @tags leaderboard
   * @name PutBoard
   * @summary Create a board, or change its title, visibility and limit. The other members never change
   * @request PUT:/v1/boards/{board}
   * @secure
   */
  export namespace PutBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @minLength 1
       * @maxLength 64
       * @example "Fastest laps"
       */
      title: string;
      /** `asc`: a lower score is better, as for race times */
      sort: "desc" | "asc";
      /** How the points of several posts make one score */
      operator: "sum" | "best" | "last";
      /** A season of the board. Weeks begin on Monday. All in UTC. `custom` needs `schedule` */
      period: "month" | "week" | "day" | "none" | "custom";
      /**
       * Seasons of a chosen length, with the period `custom`. It never changes
       * @default null
       */
      schedule?: {
        /**
         * Length of a season, in units
         * @min 1
         * @max 1000
         */
        every: number;
        unit: "hour" | "day" | "week" | "month";
        /**
         * Start of the first season. Days, weeks and months keep its local time
         * @format date-time
         */
        starts_at: string;
        /**
         * @maxLength 64
         * @default "UTC"
         * @example "Europe/Berlin"
         */
        time_zone?: string;
        /**
         * End of the last season; null without one
         * @format date-time
         */
        ends_at?: string;
      };
      /** Whether everyone may read it */
      public: boolean;
      /**
       * @min 1
       * @max 4294967295
       * @default 1000000
       */
      max_points_per_post?: number;
      /**
       * Whether points and scores may be negative. It never changes
       * @default false
       */
      negative?: boolean;
      /**
       * Decimals with which pages show scores: 2 shows 1234 as 12.34. Points and scores of the API stay integers
       * @min 0
       * @max 6
       * @default 0
       */
      decimals?: number;
      /**
       * Minimum of seconds between two posts of a player; null without one
       * @min 1
       * @max 86400
       * @default null
       */
      seconds_between_posts?: number | null;
      /**
       * Maximum length of the data of an entry, in bytes of JSON; null for a board without data
       * @min 1
       * @max 1024
       * @default null
       */
      max_data_bytes?: number | null;
      /**
       * `required`: pages may begin plays and send their results. Game servers may post in any case
       * @default "off"
       */
      sessions?: "off" | "required";
      /**
       * Rules of plays; null without sessions, or for the defaults
       * @default null
       */
      session_rules?: {
        /**
         * Origins of the pages that may begin plays. No page of another origin may
         * @maxItems 20
         * @default []
         */
        origins?: string[];
        /**
         * From the begin of a play to its result
         * @min 0
         * @max 86400
         * @default 0
         */
        least_seconds?: number;
        /**
         * @min -2147483648
         * @max 4294967295
         * @default 0
         */
        least_points?: number;
        /**
         * @min -2147483648
         * @max 4294967295
         * @default null
         */
        most_points?: number | null;
        /**
         * @exclusiveMin 0
         * @max 4294967295
         * @default null
         */
        most_points_per_second?: number | null;
        /**
         * Whether the webhook of the board judges each result that breaks no rule
         * @default false
         */
        judged?: boolean;
      };
      /**
       * Maximum of points that a player gets in a day of UTC; null without a limit. Needs the operator `sum`
       * @min 1
       * @max 9007199254740991
       * @default null
       */
      max_points_per_day?: number | null;
      /**
       * Number of past seasons that are kept; null for all. Older ones are erased for good
       * @min 1
       * @max 10000
       * @default null
       */
      seasons_kept?: number | null;
      /**
       * Whether everyone may search its players by the beginning of their names
       * @default false
       */
      find_by_name?: boolean;
      /**
       * Number of shards of the next seasons. Without it, a new board has 1, and an existing one is not changed
       * @min 1
       * @max 256
       */
      shards?: number;
      /**
       * A first post to a name that begins with this makes a board with the rules of this one, if the token has the scope `boards:create`
       * @default null
       * @pattern ^[a-z0-9][a-z0-9-]{0,30}$
       * @example "level-"
       */
      makes_boards?: string | null;
    };
    export type RequestHeaders = {};
    export type ResponseBody = Board;
  }

  /**
   * No description
   * @tags leaderboard
   * @name GetBoard
   * @summary One board, also `default`. One that is not public is for operators and tokens with its scope
   * @request GET:/v1/boards/{board}
   */
  export namespace GetBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Board;
  }

  /**
   * No description
   * @tags leaderboard
   * @name DeleteBoard
   * @summary Delete a board with all its seasons permanently. Its name is free at once. Cron erases the seasons after a minute
   * @request DELETE:/v1/boards/{board}
   * @secure
   */
  export namespace DeleteBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags leaderboard
   * @name ResetBoard
   * @summary End the current season of a board and begin another one. A repeat before it holds returns the same
   * @request POST:/v1/boards/{board}/reset
   * @secure
   */
  export namespace ResetBoard {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = BoardReset;
  }

  /**
   * No description
   * @tags leaderboard
   * @name BeginPlay
   * @summary Begin a play, on a board with sessions. It ends within 24 hours and has one result
   * @request POST:/v1/boards/{board}/plays
   */
  export namespace BeginPlay {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * A random text that the browser of the player keeps. Its hash is the id of the player
       * @pattern ^[\w-]{32,128}$
       */
      player_secret?: string;
      /**
       * Of a player whom the game server knows. Needs its token
       * @pattern ^(?!\.{1,2}$)[A-Za-z0-9._:@-]{1,64}$
       * @example "player-7f3a"
       */
      user_id?: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = Play;
  }

  /**
   * No description
   * @tags leaderboard
   * @name SendResult
   * @summary Send the result of a play. A repeat is safe, and another result of the same play is refused
   * @request POST:/v1/boards/{board}/plays/{play}/result
   */
  export namespace SendResult {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
      /** @maxLength 64 */
      play: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 2000 */
      play: string;
      /**
       * A random text that the browser of the player keeps. Its hash is the id of the player
       * @pattern ^[\w-]{32,128}$
       */
      player_secret?: string;
      /**
       * @min -2147483648
       * @max 4294967295
       */
      points: number;
      /**
       * @minLength 1
       * @maxLength 64
       */
      user_name?: string;
      /** JSON that is kept with the score that counts, such as the car or the build. At most `max_data_bytes` of the board */
      data?: any;
    };
    export type RequestHeaders = {};
    export type ResponseBody = CountedResult;
  }

  /**
   * No description
   * @tags leaderboard
   * @name ListResultsInQuarantine
   * @summary Results of plays in quarantine, the oldest first. Decided ones are kept for 30 days
   * @request GET:/v1/boards/{board}/quarantine
   * @secure
   */
  export namespace ListResultsInQuarantine {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
      /** @default "waiting" */
      status?: "waiting" | "accepted" | "refused";
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: ResultInQuarantine[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags leaderboard
   * @name DecideResult
   * @summary Accept or refuse a result, or ban its player
   * @request POST:/v1/boards/{board}/quarantine/{play}
   * @secure
   */
  export namespace DecideResult {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
      /** @maxLength 64 */
      play: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /** `accept` counts the result. `ban` refuses it, bans the player and hides the score of the current season */
      decision: "accept" | "refuse" | "ban";
      /**
       * Kept in the audit log
       * @minLength 1
       * @maxLength 1000
       */
      reason: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = ResultInQuarantine;
  }

  /**
   * No description
   * @tags leaderboard
   * @name ListBans
   * @summary Players who may not begin plays on a board
   * @request GET:/v1/boards/{board}/bans
   * @secure
   */
  export namespace ListBans {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: BannedPlayer[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags leaderboard
   * @name UnbanPlayer
   * @summary Let a player begin plays again. The score stays hidden until it is shown with PATCH
   * @request DELETE:/v1/boards/{board}/bans/{user_id}
   * @secure
   */
  export namespace UnbanPlayer {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
      /**
       * @pattern ^(?!\.{1,2}$)[A-Za-z0-9._:@-]{1,64}$
       * @example "player-7f3a"
       */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags leaderboard
   * @name GetPlayerErasure
   * @summary How far the erasure of a player is. `board` may be `default`. It is kept for 30 days after its end
   * @request GET:/v1/boards/{board}/erasures/{erasure}
   * @secure
   */
  export namespace GetPlayerErasure {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
      /** @format uuid */
      erasure: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = PlayerErasure;
  }

  /**
   * No description
   * @tags leaderboard
   * @name PutBoardLogo
   * @summary Set the logo of a board: a PNG or WebP of at most 64 KB and 1024 by 1024 pixels
   * @request PUT:/v1/boards/{board}/logo
   * @secure
   */
  export namespace PutBoardLogo {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {};
    export type RequestBody = File;
    export type RequestHeaders = {};
    export type ResponseBody = BoardLogo;
  }

  /**
   * No description
   * @tags leaderboard
   * @name DeleteBoardLogo
   * @summary Remove the logo of a board
   * @request DELETE:/v1/boards/{board}/logo
   * @secure
   */
  export namespace DeleteBoardLogo {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags leaderboard
   * @name GetBoardLogo
   * @summary The logo of a board, at the path that the board has. It never changes
   * @request GET:/v1/boards/{board}/logo/{hash}
   */
  export namespace GetBoardLogo {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
      /**
       * @pattern ^[0-9a-f]{16}$
       * @example "3f9c2d1e5b7a4860"
       */
      hash: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Blob;
  }

  /**
   * No description
   * @tags leaderboard
   * @name PutBoardWebhook
   * @summary Report each ended season of a board to a URL, or change the URL
   * @request PUT:/v1/boards/{board}/webhook
   * @secure
   */
  export namespace PutBoardWebhook {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @format uri
       * @maxLength 2000
       * @example "https://game.example.com/hooks/seasons"
       */
      url: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = BoardWebhookCreated;
  }

  /**
   * No description
   * @tags leaderboard
   * @name GetBoardWebhook
   * @summary The webhook of a board, and the ends of seasons that its receiver has not accepted yet
   * @request GET:/v1/boards/{board}/webhook
   * @secure
   */
  export namespace GetBoardWebhook {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = BoardWebhook;
  }

  /**
   * No description
   * @tags leaderboard
   * @name DeleteBoardWebhook
   * @summary Remove the webhook of a board, with what its receiver has not accepted yet
   * @request DELETE:/v1/boards/{board}/webhook
   * @secure
   */
  export namespace DeleteBoardWebhook {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags leaderboard
   * @name RotateBoardWebhook
   * @summary Replace the secret of a webhook. The earlier one signs, too, for 24 hours
   * @request POST:/v1/boards/{board}/webhook/rotate
   * @secure
   */
  export namespace RotateBoardWebhook {
    export type RequestParams = {
      /**
       * @pattern ^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$
       * @example "races"
       */
      board: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = BoardWebhookRotated;
  }

  /**
   * No description
   * @tags mail
   * @name Register
   * @summary Register a mail account
   * @request POST:/v1/auth/register
   */
  export namespace Register {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = Register;
    export type RequestHeaders = {};
    export type ResponseBody = SessionAnswer;
  }

  /**
   * No description
   * @tags mail
   * @name Login
   * @summary Log in
   * @request POST:/v1/auth/login
   */
  export namespace Login {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = Login;
    export type RequestHeaders = {};
    export type ResponseBody = SessionAnswer;
  }

  /**
   * No description
   * @tags mail
   * @name Logout
   * @summary Log out: end the current session
   * @request POST:/v1/auth/logout
   * @secure
   */
  export namespace Logout {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name ConfirmSession
   * @summary Confirm the session with the password or a passkey; sensitive actions are then allowed for ten minutes
   * @request POST:/v1/auth/confirm
   * @secure
   */
  export namespace ConfirmSession {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name GetOwnAccount
   * @summary Read your profile and quota
   * @request GET:/v1/me
   * @secure
   */
  export namespace GetOwnAccount {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Profile;
  }

  /**
   * No description
   * @tags mail
   * @name UpdateOwnAccount
   * @summary Change your name or signature
   * @request PATCH:/v1/me
   * @secure
   */
  export namespace UpdateOwnAccount {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = ProfilePatch;
    export type RequestHeaders = {};
    export type ResponseBody = Profile;
  }

  /**
   * No description
   * @tags mail
   * @name DeleteOwnAccount
   * @summary Delete the account with all its mail; its addresses are never issued again
   * @request DELETE:/v1/me
   * @secure
   */
  export namespace DeleteOwnAccount {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * @description Also ends the passkeys and access keys that other sessions made in the last 30 days. `GET /v1/me/security-review` says what ended, and lists what you should look at.
   * @tags mail
   * @name ChangePassword
   * @summary Change the password, end all other sessions and revoke all app tokens
   * @request POST:/v1/me/password
   * @secure
   */
  export namespace ChangePassword {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
      /**
       * The same as `password`
       * @maxLength 256
       */
      current_password?: string;
      /**
       * @minLength 8
       * @maxLength 256
       */
      new_password: string;
      /** True does not revoke app tokens */
      keep_tokens?: boolean;
      /**
       * Passkeys and access keys that other sessions made since then end. Default: 30 days ago
       * @format date-time
       */
      since?: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name DeletePassword
   * @summary Remove the password, so that passkeys are the only way to log in
   * @request DELETE:/v1/me/password
   * @secure
   */
  export namespace DeletePassword {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name ListSessions
   * @summary List your sessions, newest first
   * @request GET:/v1/me/sessions
   * @secure
   */
  export namespace ListSessions {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: Session[];
      next_cursor: null;
    };
  }

  /**
   * No description
   * @tags mail
   * @name DeleteSession
   * @summary End a session
   * @request DELETE:/v1/me/sessions/{session_id}
   * @secure
   */
  export namespace DeleteSession {
    export type RequestParams = {
      /** @maxLength 100 */
      sessionId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name BeginTotp
   * @summary Start setting up a second factor: returns a secret for an authenticator app
   * @request POST:/v1/me/totp
   * @secure
   */
  export namespace BeginTotp {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
    };
    export type RequestHeaders = {};
    export type ResponseBody = {
      secret: string;
      otpauth_url: string;
    };
  }

  /**
   * No description
   * @tags mail
   * @name DeleteTotp
   * @summary Disable the second factor
   * @request DELETE:/v1/me/totp
   * @secure
   */
  export namespace DeleteTotp {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name ConfirmTotp
   * @summary Enable the second factor with a first code; recovery codes are shown only once
   * @request POST:/v1/me/totp/confirm
   * @secure
   */
  export namespace ConfirmTotp {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @pattern ^\d{6}$ */
      totp: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = {
      recovery_codes: string[];
    };
  }

  /**
   * No description
   * @tags mail
   * @name ListOwnTokens
   * @summary List your app tokens
   * @request GET:/v1/me/tokens
   * @secure
   */
  export namespace ListOwnTokens {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: AppToken[];
      next_cursor: string | null;
    };
  }

  /**
   * @description Without scopes: an app token with the scope mail. With scopes of an agent, the token opens /v1/mcp and nothing else. `mail:send` sends without asking only to the addresses of /v1/me/agent-recipients. `mail:codes` shows sign-in codes and reset links, with which an agent could take over accounts elsewhere.
   * @tags mail
   * @name CreateOwnToken
   * @summary Create an app token, or the token of an agent; it is shown only once
   * @request POST:/v1/me/tokens
   * @secure
   */
  export namespace CreateOwnToken {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
      /**
       * @minLength 1
       * @maxLength 128
       * @pattern ^[^\u0000-\u001f\u007f-\u009f]*$
       */
      name: string;
      /** @format date-time */
      expires_at?: string;
      /** @minItems 1 */
      scopes?: ("mail:read" | "mail:draft" | "mail:send" | "mail:codes")[];
    };
    export type RequestHeaders = {};
    export type ResponseBody = NewAppToken;
  }

  /**
   * No description
   * @tags mail
   * @name DeleteOwnToken
   * @summary Revoke a token
   * @request DELETE:/v1/me/tokens/{token_id}
   * @secure
   */
  export namespace DeleteOwnToken {
    export type RequestParams = {
      /** @maxLength 100 */
      tokenId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name ListOwnAccessKeys
   * @summary List your access keys for storage, without secrets
   * @request GET:/v1/me/access-keys
   * @secure
   */
  export namespace ListOwnAccessKeys {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: OwnAccessKey[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags mail
   * @name CreateOwnAccessKey
   * @summary Create an access key for storage. The secret is returned only here
   * @request POST:/v1/me/access-keys
   * @secure
   */
  export namespace CreateOwnAccessKey {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
      /** @format date-time */
      expires_at?: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = NewOwnAccessKey;
  }

  /**
   * No description
   * @tags mail
   * @name DeleteOwnAccessKey
   * @summary Revoke one of your access keys
   * @request DELETE:/v1/me/access-keys/{access_key_id}
   * @secure
   */
  export namespace DeleteOwnAccessKey {
    export type RequestParams = {
      /** @maxLength 128 */
      accessKeyId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name RotateOwnAccessKey
   * @summary Replace one of your access keys. The old key works until the overlap ends
   * @request POST:/v1/me/access-keys/{access_key_id}/rotate
   * @secure
   */
  export namespace RotateOwnAccessKey {
    export type RequestParams = {
      /** @maxLength 128 */
      accessKeyId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
      /** @format date-time */
      expires_at?: string;
      /**
       * How long the old key still works. 0 ends it at once.
       * @min 0
       * @max 604800
       * @default 86400
       */
      overlap_seconds?: number;
    };
    export type RequestHeaders = {};
    export type ResponseBody = NewOwnAccessKey;
  }

  /**
   * No description
   * @tags mail
   * @name CreateOwnTemporaryKey
   * @summary Make a temporary key of one of your access keys
   * @request POST:/v1/me/access-keys/{access_key_id}/temporary-keys
   * @secure
   */
  export namespace CreateOwnTemporaryKey {
    export type RequestParams = {
      /** @maxLength 128 */
      accessKeyId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
      /**
       * Life of the temporary key. It ends with its access key, if that ends earlier.
       * @min 1
       * @max 720
       * @default 60
       */
      minutes?: number;
      /**
       * The only bucket that the temporary key opens.
       * @pattern ^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$
       */
      bucket?: string;
      /**
       * Only objects whose keys begin with it. Needs `bucket`.
       * @maxLength 1024
       */
      prefix?: string;
      /**
       * Rights in `bucket`. `read`: read and list objects and versions. `write`: upload and delete objects. Default: read.
       * @maxItems 2
       * @minItems 1
       */
      actions?: ("read" | "write")[];
      /** A policy document of at most 2,048 characters, instead of `bucket`, `prefix` and `actions`. */
      policy?: Record<string, any>;
    };
    export type RequestHeaders = {};
    export type ResponseBody = TemporaryKey;
  }

  /**
   * No description
   * @tags mail
   * @name EndOwnTemporaryKeys
   * @summary End the temporary keys of one of your access keys, which stays
   * @request DELETE:/v1/me/access-keys/{access_key_id}/temporary-keys
   * @secure
   */
  export namespace EndOwnTemporaryKeys {
    export type RequestParams = {
      /** @maxLength 128 */
      accessKeyId: string;
    };
    export type RequestQuery = {
      /**
       * Keys made at this time or earlier end. Default: now.
       * @format date-time
       */
      made_before?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name ListAddresses
   * @summary List your addresses; the first is the one you log in with
   * @request GET:/v1/me/addresses
   * @secure
   */
  export namespace ListAddresses {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = OwnAddress[];
  }

  /**
   * No description
   * @tags mail
   * @name AddAddress
   * @summary Add an address of a hosted domain, if registration is open
   * @request POST:/v1/me/addresses
   * @secure
   */
  export namespace AddAddress {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
      /** @maxLength 320 */
      email: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = OwnAddress;
  }

  /**
   * No description
   * @tags mail
   * @name DeleteAddress
   * @summary Remove an address; it is never issued again
   * @request DELETE:/v1/me/addresses/{email}
   * @secure
   */
  export namespace DeleteAddress {
    export type RequestParams = {
      /** @maxLength 320 */
      email: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name ListMaskedAddresses
   * @summary List your masked addresses, newest first, with those that were ended
   * @request GET:/v1/me/masked-addresses
   * @secure
   */
  export namespace ListMaskedAddresses {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = MaskedAddress[];
  }

  /**
   * No description
   * @tags mail
   * @name CreateMaskedAddress
   * @summary Make an address to give away: two words and four digits at the domain of the account
   * @request POST:/v1/me/masked-addresses
   * @secure
   */
  export namespace CreateMaskedAddress {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @maxLength 200
       * @default ""
       */
      note?: string;
      /**
       * @maxLength 300
       * @default ""
       * @pattern ^(?:https?:\/\/[^\s/?#@]+)?$
       */
      for_domain?: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = MaskedAddress;
  }

  /**
   * @description deleted: mail to it is refused at SMTP, and none can be sent from it. disabled: mail goes to Trash. enabled: it is open again.
   * @tags mail
   * @name ChangeMaskedAddress
   * @summary Change the note of a masked address, end it or open it again
   * @request PATCH:/v1/me/masked-addresses/{email}
   * @secure
   */
  export namespace ChangeMaskedAddress {
    export type RequestParams = {
      /** @maxLength 320 */
      email: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      state?: "enabled" | "disabled" | "deleted";
      /** @maxLength 200 */
      note?: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = MaskedAddress;
  }

  /**
   * No description
   * @tags mail
   * @name UpdateAccount
   * @summary Operator: change the type of an account
   * @request PATCH:/v1/accounts/{user_id}
   * @secure
   */
  export namespace UpdateAccount {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      account_type: "personal" | "business";
    };
    export type RequestHeaders = {};
    export type ResponseBody = MailAccount;
  }

  /**
   * No description
   * @tags mail
   * @name RebuildMailbox
   * @summary Operator: rebuild texts, attachments, search and threads of a mailbox, or the whole mailbox, from its raw mail
   * @request POST:/v1/accounts/{user_id}/rebuild
   * @secure
   */
  export namespace RebuildMailbox {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      /** Messages whose derived data was made again */
      messages: number;
      /** Messages whose raw bytes are in no location */
      missing: string[];
      /** Messages of a lost mailbox, restored from their raw bytes */
      recovered: number;
    };
  }

  /**
   * No description
   * @tags mail
   * @name CreateInvite
   * @summary Operator: create an invitation, valid once and for 14 days
   * @request POST:/v1/invites
   * @secure
   */
  export namespace CreateInvite {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      invite: string;
      expires_at: string;
    };
  }

  /**
   * No description
   * @tags mail
   * @name ReadMailboxBookmark
   * @summary Operator: read the bookmark of the present state of a mailbox, or of its state at a time
   * @request POST:/v1/accounts/{user_id}/bookmark
   * @secure
   */
  export namespace ReadMailboxBookmark {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /** @format date-time */
      at?: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = {
      bookmark: string;
    };
  }

  /**
   * No description
   * @tags mail
   * @name RestoreMailbox
   * @summary Operator: put a mailbox back to the state of a bookmark. It refuses every call until it is replayed
   * @request POST:/v1/accounts/{user_id}/restore
   * @secure
   */
  export namespace RestoreMailbox {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @minLength 1
       * @maxLength 200
       */
      bookmark: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = {
      number: number;
    };
  }

  /**
   * No description
   * @tags mail
   * @name ReplayMailbox
   * @summary Operator: replay what must hold into a mailbox that was put back, and let it serve
   * @request POST:/v1/accounts/{user_id}/replay
   * @secure
   */
  export namespace ReplayMailbox {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @min 1
       * @max 300
       * @default 20
       */
      max_seconds?: number;
    };
    export type RequestHeaders = {};
    export type ResponseBody = {
      messages_recovered: number;
      messages_erased: number;
      finished: boolean;
    };
  }

  /**
   * No description
   * @tags mail
   * @name ListAccountAddresses
   * @summary Operator: list the addresses of an account
   * @request GET:/v1/accounts/{user_id}/addresses
   * @secure
   */
  export namespace ListAccountAddresses {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = AccountAddress[];
  }

  /**
   * @description An address, or a wildcard such as `sales-*@example.test`. The account receives mail for every address that matches the wildcard and belongs to nobody else, and may send from it. The longest wildcard wins, then the catch-all of the domain.
   * @tags mail
   * @name AddAccountAddress
   * @summary Operator: give an account an address
   * @request POST:/v1/accounts/{user_id}/addresses
   * @secure
   */
  export namespace AddAccountAddress {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 320 */
      email: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = AccountAddress;
  }

  /**
   * No description
   * @tags mail
   * @name DeleteAccountAddress
   * @summary Operator: take an address from an account; it is never issued again
   * @request DELETE:/v1/accounts/{user_id}/addresses/{email}
   * @secure
   */
  export namespace DeleteAccountAddress {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
      /** @maxLength 320 */
      email: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name CreatePasswordReset
   * @summary Operator: create a link that sets a new password; it works once, within an hour
   * @request POST:/v1/accounts/{user_id}/password-reset
   * @secure
   */
  export namespace CreatePasswordReset {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      url: string;
      expires_at: string;
    };
  }

  /**
   * No description
   * @tags mail
   * @name RequestPasswordReset
   * @summary Mail a link for a new password to the confirmed recovery address, if the account has one
   * @request POST:/v1/auth/forgot
   */
  export namespace RequestPasswordReset {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 320 */
      email: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name RequestLoginCode
   * @summary Mail a code to the confirmed recovery address, if the account has one; it admits a challenged login
   * @request POST:/v1/auth/login-code
   */
  export namespace RequestLoginCode {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 320 */
      email: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name ResetPassword
   * @summary Set a new password with the token of a link; ends all sessions and app tokens
   * @request POST:/v1/auth/reset
   */
  export namespace ResetPassword {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 200 */
      token: string;
      /**
       * @minLength 8
       * @maxLength 256
       */
      password: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name BeginPasskeyLogin
   * @summary Start a login with a passkey: returns options for the browser, valid once and for five minutes
   * @request POST:/v1/auth/passkey/options
   */
  export namespace BeginPasskeyLogin {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = PasskeyRequestOptions;
  }

  /**
   * No description
   * @tags mail
   * @name LoginWithPasskey
   * @summary Log in with a passkey
   * @request POST:/v1/auth/passkey/login
   */
  export namespace LoginWithPasskey {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      response: PasskeyAssertion;
    };
    export type RequestHeaders = {};
    export type ResponseBody = SessionAnswer;
  }

  /**
   * No description
   * @tags mail
   * @name ListPasskeys
   * @summary List your passkeys, oldest first
   * @request GET:/v1/me/passkeys
   * @secure
   */
  export namespace ListPasskeys {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: Passkey[];
      next_cursor: null;
    };
  }

  /**
   * No description
   * @tags mail
   * @name AddPasskey
   * @summary Add the passkey that a device made with the options
   * @request POST:/v1/me/passkeys
   * @secure
   */
  export namespace AddPasskey {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @minLength 1
       * @maxLength 128
       * @pattern ^[^\u0000-\u001f\u007f-\u009f]*$
       */
      name: string;
      response: PasskeyRegistration;
    };
    export type RequestHeaders = {};
    export type ResponseBody = Passkey;
  }

  /**
   * No description
   * @tags mail
   * @name BeginPasskey
   * @summary Start adding a passkey: returns options for the browser, valid once and for five minutes
   * @request POST:/v1/me/passkeys/options
   * @secure
   */
  export namespace BeginPasskey {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
    };
    export type RequestHeaders = {};
    export type ResponseBody = PasskeyCreationOptions;
  }

  /**
   * No description
   * @tags mail
   * @name RenamePasskey
   * @summary Rename a passkey
   * @request PATCH:/v1/me/passkeys/{passkey_id}
   * @secure
   */
  export namespace RenamePasskey {
    export type RequestParams = {
      /** @maxLength 1400 */
      passkeyId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @minLength 1
       * @maxLength 128
       * @pattern ^[^\u0000-\u001f\u007f-\u009f]*$
       */
      name: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = Passkey;
  }

  /**
   * No description
   * @tags mail
   * @name DeletePasskey
   * @summary Remove a passkey, unless it is the only way to log in
   * @request DELETE:/v1/me/passkeys/{passkey_id}
   * @secure
   */
  export namespace DeletePasskey {
    export type RequestParams = {
      /** @maxLength 1400 */
      passkeyId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name SetPasswordRule
   * @summary Choose whether a login by password needs a passkey as its second factor
   * @request PUT:/v1/me/password/rule
   * @secure
   */
  export namespace SetPasswordRule {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      needs_passkey: boolean;
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name LoginWithProvider
   * @summary Log in with what the provider said, after a sign-in for `mail`
   * @request POST:/v1/auth/oidc/session
   */
  export namespace LoginWithProvider {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = SessionAnswer;
  }

  /**
   * No description
   * @tags mail
   * @name LoginWithAccess
   * @summary Log in with the token of Cloudflare Access, which its edge adds to the request
   * @request POST:/v1/auth/access
   */
  export namespace LoginWithAccess {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = SessionAnswer;
  }

  /**
   * No description
   * @tags mail
   * @name ConfirmSessionWithProvider
   * @summary Confirm the session for ten minutes, after a sign-in for `confirm`, which always asks the person again
   * @request POST:/v1/auth/oidc/confirm
   * @secure
   */
  export namespace ConfirmSessionWithProvider {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name ListSignIns
   * @summary List the accounts of the provider that open your account, oldest first
   * @request GET:/v1/me/sign-ins
   * @secure
   */
  export namespace ListSignIns {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: SignIn[];
      next_cursor: null;
    };
  }

  /**
   * @description From then on your account ends with that of the provider. Only an operator removes the connection.
   * @tags mail
   * @name BindSignIn
   * @summary Connect the account of the provider to your account, after a sign-in for `bind`. Needs a confirmed session
   * @request POST:/v1/me/sign-ins
   * @secure
   */
  export namespace BindSignIn {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      sign_in_id: string;
    };
  }

  /**
   * No description
   * @tags mail
   * @name GetSecurityReview
   * @summary Read what a new password ended, and which recovery addresses, forwards and filters stay
   * @request GET:/v1/me/security-review
   * @secure
   */
  export namespace GetSecurityReview {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = SecurityReview;
  }

  /**
   * No description
   * @tags mail
   * @name EndSecurityReview
   * @summary End the review: the user has seen it
   * @request POST:/v1/me/security-review/done
   * @secure
   */
  export namespace EndSecurityReview {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name GetRecoveryAddress
   * @summary Read the recovery address, and one that waits for its code
   * @request GET:/v1/me/recovery-address
   * @secure
   */
  export namespace GetRecoveryAddress {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = RecoveryAddress;
  }

  /**
   * No description
   * @tags mail
   * @name SetRecoveryAddress
   * @summary Mail a code to a new recovery address; it replaces the old one when the code is confirmed
   * @request PUT:/v1/me/recovery-address
   * @secure
   */
  export namespace SetRecoveryAddress {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @format email
       * @maxLength 254
       */
      email: string;
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name DeleteRecoveryAddress
   * @summary Remove the recovery address, and one that waits for its code
   * @request DELETE:/v1/me/recovery-address
   * @secure
   */
  export namespace DeleteRecoveryAddress {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name ConfirmRecoveryAddress
   * @summary Confirm the new recovery address with its code
   * @request POST:/v1/me/recovery-address/confirm
   * @secure
   */
  export namespace ConfirmRecoveryAddress {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @minLength 1
       * @maxLength 40
       */
      code: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name ReplaceRecoveryCodes
   * @summary Replace the recovery codes of the second factor; the new ones are shown only once
   * @request POST:/v1/me/totp/recovery-codes
   * @secure
   */
  export namespace ReplaceRecoveryCodes {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
    };
    export type RequestHeaders = {};
    export type ResponseBody = {
      recovery_codes: string[];
    };
  }

  /**
   * No description
   * @tags mail
   * @name ListFolders
   * @summary List folders with their counts
   * @request GET:/v1/folders
   * @secure
   */
  export namespace ListFolders {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Folder[];
  }

  /**
   * No description
   * @tags mail
   * @name CreateFolder
   * @summary Create a folder, with its missing parents
   * @request POST:/v1/folders
   * @secure
   */
  export namespace CreateFolder {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = FolderName;
    export type RequestHeaders = {};
    export type ResponseBody = Folder;
  }

  /**
   * No description
   * @tags mail
   * @name ListFolderMessages
   * @summary List a folder’s messages, newest first
   * @request GET:/v1/folders/{folder_id}/messages
   * @secure
   */
  export namespace ListFolderMessages {
    export type RequestParams = {
      /** @maxLength 100 */
      folderId: string;
    };
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
      /**
       * Skip this many of the newest messages, to jump within a long folder. Replaces `cursor`; read the next page with `cursor`.
       * @min 0
       * @max 1000000000
       */
      offset?: number | null;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: MessageSummary[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags mail
   * @name RenameFolder
   * @summary Rename one of your own folders, with its subfolders, or subscribe to a folder
   * @request PATCH:/v1/folders/{folder_id}
   * @secure
   */
  export namespace RenameFolder {
    export type RequestParams = {
      /** @maxLength 100 */
      folderId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = FolderPatch;
    export type RequestHeaders = {};
    export type ResponseBody = Folder;
  }

  /**
   * No description
   * @tags mail
   * @name DeleteFolder
   * @summary Delete one of your own folders and move its mail to Trash
   * @request DELETE:/v1/folders/{folder_id}
   * @secure
   */
  export namespace DeleteFolder {
    export type RequestParams = {
      /** @maxLength 100 */
      folderId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name EmptyFolder
   * @summary Permanently delete everything in Junk or Trash
   * @request POST:/v1/folders/{folder_id}/empty
   * @secure
   */
  export namespace EmptyFolder {
    export type RequestParams = {
      /** @maxLength 100 */
      folderId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      erased: number;
    };
  }

  /**
   * No description
   * @tags mail
   * @name ListLabels
   * @summary List the labels of your messages, with their counts
   * @request GET:/v1/labels
   * @secure
   */
  export namespace ListLabels {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: Label[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags mail
   * @name UpdateMessage
   * @summary Mark, flag, move or label a message
   * @request PATCH:/v1/messages/{message_id}
   * @secure
   */
  export namespace UpdateMessage {
    export type RequestParams = {
      /** @maxLength 100 */
      messageId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = MessagePatch;
    export type RequestHeaders = {};
    export type ResponseBody = Message;
  }

  /**
   * No description
   * @tags mail
   * @name DeleteMessage
   * @summary Move a message to Trash, or delete it permanently from Trash
   * @request DELETE:/v1/messages/{message_id}
   * @secure
   */
  export namespace DeleteMessage {
    export type RequestParams = {
      /** @maxLength 100 */
      messageId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name GetMessage
   * @summary Read a message
   * @request GET:/v1/messages/{message_id}
   * @secure
   */
  export namespace GetMessage {
    export type RequestParams = {
      /** @maxLength 100 */
      messageId: string;
    };
    export type RequestQuery = {
      /** true keeps the addresses of remote images in `html`. */
      remote_images?: "true" | "false";
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Message;
  }

  /**
   * @description By one click (RFC 8058) if a valid DKIM signature covers both header fields, else by a message to the address that the list names, which is then in Sent. The message and the newest one of its list then have the label $unsubscribed.
   * @tags mail
   * @name Unsubscribe
   * @summary Unsubscribe from the mailing list of a message
   * @request POST:/v1/messages/{message_id}/unsubscribe
   * @secure
   */
  export namespace Unsubscribe {
    export type RequestParams = {
      /** @maxLength 100 */
      messageId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = UnsubscribeAnswer;
  }

  /**
   * @description Up to 1,000 message_ids are changed in one transaction. With a query, a request changes about 1,000 of the messages that it finds, newest first, and never those that arrived after the first request. Repeat it with next_cursor.
   * @tags mail
   * @name UpdateMessages
   * @summary Apply the same change to many messages
   * @request POST:/v1/messages/batch
   * @secure
   */
  export namespace UpdateMessages {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = MessageBatch;
    export type RequestHeaders = {};
    export type ResponseBody = MessageBatchAnswer;
  }

  /**
   * No description
   * @tags mail
   * @name GetThread
   * @summary Read a thread, oldest message first
   * @request GET:/v1/threads/{thread_id}
   * @secure
   */
  export namespace GetThread {
    export type RequestParams = {
      /** @maxLength 100 */
      threadId: string;
    };
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Thread;
  }

  /**
   * @description Muting archives the messages of the thread as read, and those that arrive later.
   * @tags mail
   * @name UpdateThread
   * @summary Mute or unmute a thread
   * @request PATCH:/v1/threads/{thread_id}
   * @secure
   */
  export namespace UpdateThread {
    export type RequestParams = {
      /** @maxLength 100 */
      threadId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = ThreadPatch;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * @description A draft that was written in the app is composed: the same bytes until it is saved again.
   * @tags mail
   * @name GetRawMessage
   * @summary Download the raw message
   * @request GET:/v1/messages/{message_id}/raw
   * @secure
   */
  export namespace GetRawMessage {
    export type RequestParams = {
      /** @maxLength 100 */
      messageId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = File;
  }

  /**
   * No description
   * @tags mail
   * @name GetAttachment
   * @summary Download an attachment, decoded
   * @request GET:/v1/messages/{message_id}/attachments/{file_name}
   * @secure
   */
  export namespace GetAttachment {
    export type RequestParams = {
      /** @maxLength 100 */
      messageId: string;
      /** @maxLength 1000 */
      fileName: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = File;
  }

  /**
   * @description The first event of a text/calendar attachment of up to 1 MB. 404 if the message has none.
   * @tags mail
   * @name GetInvitation
   * @summary Read the event that a message invites to
   * @request GET:/v1/messages/{message_id}/invitation
   * @secure
   */
  export namespace GetInvitation {
    export type RequestParams = {
      /** @maxLength 100 */
      messageId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Invitation;
  }

  /**
   * @description Words (from three characters also the beginnings of words), "phrases", prefix*, from: to: cc: bcc: subject: in: is:unread|read|flagged|answered|forwarded|draft has:attachment filename: label: thread: list: header:name or header:name:text before: after: newer_than:2d older_than:1y larger: smaller:, - negates, OR, parentheses. Another word directly before a colon and a value is 400; quote it to search for it. Junk and Trash are included only if in: names them (in:any is everything). A page takes bounded time: it may hold fewer hits than limit, or none, and still have a next_cursor.
   * @tags mail
   * @name SearchMessages
   * @summary Search
   * @request GET:/v1/messages
   * @secure
   */
  export namespace SearchMessages {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
      /**
       * Without it: all messages outside Junk and Trash, newest first.
       * @maxLength 1000
       * @default ""
       */
      q?: string;
      /** @default "relevance" */
      sort?: "relevance" | "newest";
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: MessageSummary[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags mail
   * @name SendMessage
   * @summary Send a message
   * @request POST:/v1/messages
   * @secure
   */
  export namespace SendMessage {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = Submit;
    export type RequestHeaders = {
      /**
       * @minLength 1
       * @maxLength 255
       */
      "idempotency-key"?: string;
    };
    export type ResponseBody = SubmitAnswer;
  }

  /**
   * @description A state is a decimal string; "0" is before everything. `resync: true` means that `since` is too old or from another mailbox: read everything again and continue from `state`. Without `since`: the current state. The socket answers the text "ping" with "pong".
   * @tags mail
   * @name GetEvents
   * @summary Read changes since a state: by WebSocket if requested, otherwise by a long poll of up to 25 s
   * @request GET:/v1/events
   * @secure
   */
  export namespace GetEvents {
    export type RequestParams = {};
    export type RequestQuery = {
      /** @pattern ^\d{1,15}$ */
      since?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Events;
  }

  /**
   * No description
   * @tags mail
   * @name CreateDraft
   * @summary Create a draft
   * @request POST:/v1/drafts
   * @secure
   */
  export namespace CreateDraft {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = DraftRequest;
    export type RequestHeaders = {};
    export type ResponseBody = Draft;
  }

  /**
   * No description
   * @tags mail
   * @name ReplaceDraft
   * @summary Replace the whole content of a draft, under the same id
   * @request PUT:/v1/drafts/{draft_id}
   * @secure
   */
  export namespace ReplaceDraft {
    export type RequestParams = {
      /** @maxLength 100 */
      draftId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = DraftRequest;
    export type RequestHeaders = {
      /**
       * The revision that was read. If the draft has changed since, the answer is 412 and nothing changes.
       * @pattern ^(?:\*|"?\d{1,15}"?)$
       */
      "if-match"?: string;
    };
    export type ResponseBody = Draft;
  }

  /**
   * No description
   * @tags mail
   * @name GetDraft
   * @summary Read a draft
   * @request GET:/v1/drafts/{draft_id}
   * @secure
   */
  export namespace GetDraft {
    export type RequestParams = {
      /** @maxLength 100 */
      draftId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Draft;
  }

  /**
   * No description
   * @tags mail
   * @name DeleteDraft
   * @summary Delete a draft, with its files
   * @request DELETE:/v1/drafts/{draft_id}
   * @secure
   */
  export namespace DeleteDraft {
    export type RequestParams = {
      /** @maxLength 100 */
      draftId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name UploadAttachment
   * @summary Upload a file for a message; the body is its raw bytes
   * @request POST:/v1/attachments
   * @secure
   */
  export namespace UploadAttachment {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @minLength 1
       * @maxLength 1000
       * @pattern ^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$
       */
      file_name: string;
    };
    export type RequestBody = File;
    export type RequestHeaders = {
      /** Required, because an upload needs a known length. */
      "content-length"?: string;
      /** @maxLength 200 */
      "content-type"?: string;
    };
    export type ResponseBody = Upload;
  }

  /**
   * No description
   * @tags mail
   * @name ListFilters
   * @summary List filters in the order in which they run
   * @request GET:/v1/filters
   * @secure
   */
  export namespace ListFilters {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Filter[];
  }

  /**
   * No description
   * @tags mail
   * @name CreateFilter
   * @summary Add a filter
   * @request POST:/v1/filters
   * @secure
   */
  export namespace CreateFilter {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = FilterRequest;
    export type RequestHeaders = {};
    export type ResponseBody = Filter;
  }

  /**
   * No description
   * @tags mail
   * @name ReplaceFilter
   * @summary Replace a filter, or change its position
   * @request PUT:/v1/filters/{filter_id}
   * @secure
   */
  export namespace ReplaceFilter {
    export type RequestParams = {
      /** @maxLength 100 */
      filterId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = FilterRequest;
    export type RequestHeaders = {};
    export type ResponseBody = Filter;
  }

  /**
   * No description
   * @tags mail
   * @name DeleteFilter
   * @summary Remove a filter
   * @request DELETE:/v1/filters/{filter_id}
   * @secure
   */
  export namespace DeleteFilter {
    export type RequestParams = {
      /** @maxLength 100 */
      filterId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name ApplyFilter
   * @summary Run a filter over existing mail except Junk and Trash; forwards nothing
   * @request POST:/v1/filters/{filter_id}/apply
   * @secure
   */
  export namespace ApplyFilter {
    export type RequestParams = {
      /** @maxLength 100 */
      filterId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      looked: number;
      changed: number;
    };
  }

  /**
   * No description
   * @tags mail
   * @name ListContacts
   * @summary List contacts, most written-to first
   * @request GET:/v1/contacts
   * @secure
   */
  export namespace ListContacts {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
      /**
       * Prefix of the address, the name, or a word of the name, for completion.
       * @maxLength 200
       * @default ""
       */
      q?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: Contact[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags mail
   * @name CreateContact
   * @summary Save a contact
   * @request POST:/v1/contacts
   * @secure
   */
  export namespace CreateContact {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = ContactRequest;
    export type RequestHeaders = {};
    export type ResponseBody = Contact;
  }

  /**
   * No description
   * @tags mail
   * @name ReplaceContact
   * @summary Change a contact
   * @request PUT:/v1/contacts/{contact_id}
   * @secure
   */
  export namespace ReplaceContact {
    export type RequestParams = {
      /** @maxLength 100 */
      contactId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = ContactRequest;
    export type RequestHeaders = {};
    export type ResponseBody = Contact;
  }

  /**
   * No description
   * @tags mail
   * @name DeleteContact
   * @summary Delete a contact
   * @request DELETE:/v1/contacts/{contact_id}
   * @secure
   */
  export namespace DeleteContact {
    export type RequestParams = {
      /** @maxLength 100 */
      contactId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name ListSenders
   * @summary List trusted and blocked senders
   * @request GET:/v1/senders
   * @secure
   */
  export namespace ListSenders {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
      status?: "trusted" | "blocked";
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: Sender[];
      next_cursor: string | null;
    };
  }

  /**
   * @description Replaces an earlier decision about the same sender.
   * @tags mail
   * @name SaveSender
   * @summary Trust or block a sender
   * @request POST:/v1/senders
   * @secure
   */
  export namespace SaveSender {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = SenderRequest;
    export type RequestHeaders = {};
    export type ResponseBody = Sender;
  }

  /**
   * No description
   * @tags mail
   * @name DeleteSender
   * @summary Delete a trusted or blocked sender
   * @request DELETE:/v1/senders/{sender_id}
   * @secure
   */
  export namespace DeleteSender {
    export type RequestParams = {
      /** @maxLength 100 */
      senderId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * @description Messages that exist already are not added again, so an interrupted import can be repeated whole. A request stores a few thousand messages; send a longer file again until `remaining` is 0.
   * @tags mail
   * @name ImportMail
   * @summary Import mbox (application/mbox) or one message (message/rfc822); the body is the file
   * @request POST:/v1/import
   * @secure
   */
  export namespace ImportMail {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @maxLength 100
       * @default "inbox"
       */
      folder_id?: string;
    };
    export type RequestBody = File;
    export type RequestHeaders = {};
    export type ResponseBody = ImportReport;
  }

  /**
   * @description A download that ends before its last chunk is truncated. Remove what follows its last complete message, request the rest with `after`, and append it.
   * @tags mail
   * @name ExportMail
   * @summary Download all messages as mbox, oldest first, with dates, flags, labels and folders
   * @request GET:/v1/export
   * @secure
   */
  export namespace ExportMail {
    export type RequestParams = {};
    export type RequestQuery = {
      /** @maxLength 100 */
      folder_id?: string;
      /**
       * Continue after this message: the last `X-Tessera-Id` of a truncated download.
       * @maxLength 100
       */
      after?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = string;
  }

  /**
   * No description
   * @tags mail
   * @name ListPulls
   * @summary List pulls from other mailboxes, with their progress
   * @request GET:/v1/import/pulls
   * @secure
   */
  export namespace ListPulls {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      items: Pull[];
    };
  }

  /**
   * @description Fetches all folders, then what is new every 15 minutes, with at most one log-in a minute. A pull of the same host and user name continues where it was, with the new secret. The secret is sealed, and erased when the pull ends.
   * @tags mail
   * @name StartPull
   * @summary Pull mail from another mailbox by IMAP
   * @request POST:/v1/import/pulls
   * @secure
   */
  export namespace StartPull {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = PullRequest;
    export type RequestHeaders = {};
    export type ResponseBody = Pull;
  }

  /**
   * @description Messages that were pulled stay. Starting it again later reads everything again, but adds nothing twice.
   * @tags mail
   * @name DeletePull
   * @summary End a pull, and erase its secret
   * @request DELETE:/v1/import/pulls/{pull_id}
   * @secure
   */
  export namespace DeletePull {
    export type RequestParams = {
      /** @maxLength 100 */
      pullId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name TraceMail
   * @summary Find out what became of mail of the last 30 days
   * @request GET:/v1/mail/trace
   * @secure
   */
  export namespace TraceMail {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * An address hosted here. Operators must name it, or `message_id` alone. A person's own mail is traced without it.
       * @format email
       * @maxLength 320
       */
      address?: string;
      /**
       * The address at the other side. Operators see others by their domain only.
       * @format email
       * @maxLength 320
       */
      peer?: string;
      /**
       * Message-ID of the message.
       * @minLength 3
       * @maxLength 998
       */
      message_id?: string;
      /**
       * Continues a search by `message_id` alone, which asks 50 mailboxes per request.
       * @maxLength 200
       */
      cursor?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = MailTrace;
  }

  /**
   * No description
   * @tags mail
   * @name GetPushKey
   * @summary Read the key with which pushes are signed
   * @request GET:/v1/push-key
   * @secure
   */
  export namespace GetPushKey {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = PushKey;
  }

  /**
   * @description The same endpoint again prolongs its subscription.
   * @tags mail
   * @name SubscribeToPush
   * @summary Notify a browser of new mail
   * @request POST:/v1/push-subscriptions
   * @secure
   */
  export namespace SubscribeToPush {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = PushSubscriptionRequest;
    export type RequestHeaders = {};
    export type ResponseBody = PushSubscription;
  }

  /**
   * No description
   * @tags mail
   * @name UnsubscribeFromPush
   * @summary Stop notifying a browser of new mail
   * @request DELETE:/v1/push-subscriptions/{subscription_id}
   * @secure
   */
  export namespace UnsubscribeFromPush {
    export type RequestParams = {
      /** @maxLength 100 */
      subscriptionId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name GetVacation
   * @summary Read the vacation reply
   * @request GET:/v1/me/vacation
   * @secure
   */
  export namespace GetVacation {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Vacation;
  }

  /**
   * No description
   * @tags mail
   * @name SetVacation
   * @summary Set the vacation reply: sent once a week to each sender, never to lists, machines or reports
   * @request PUT:/v1/me/vacation
   * @secure
   */
  export namespace SetVacation {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = Vacation;
    export type RequestHeaders = {};
    export type ResponseBody = Vacation;
  }

  /**
   * No description
   * @tags mail
   * @name ListForwardTargets
   * @summary List addresses that filters may forward to
   * @request GET:/v1/me/forward-targets
   * @secure
   */
  export namespace ListForwardTargets {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = ForwardTarget[];
  }

  /**
   * No description
   * @tags mail
   * @name CreateForwardTarget
   * @summary Mail a confirmation code to a forward target
   * @request POST:/v1/me/forward-targets
   * @secure
   */
  export namespace CreateForwardTarget {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
      /**
       * @format email
       * @maxLength 254
       */
      email: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name ConfirmForwardTarget
   * @summary Confirm a forward target with its code
   * @request POST:/v1/me/forward-targets/confirm
   * @secure
   */
  export namespace ConfirmForwardTarget {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
      /**
       * @format email
       * @maxLength 254
       */
      email: string;
      /** @pattern ^\d{8}$ */
      code: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name DeleteForwardTarget
   * @summary Remove a forward target
   * @request DELETE:/v1/me/forward-targets/{email}
   * @secure
   */
  export namespace DeleteForwardTarget {
    export type RequestParams = {
      /** @maxLength 254 */
      email: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name ListAddressForwards
   * @summary List your addresses whose mail is forwarded
   * @request GET:/v1/me/address-forwards
   * @secure
   */
  export namespace ListAddressForwards {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = AddressForward[];
  }

  /**
   * @description Filters and the vacation reply skip mail that is not kept. Junk, reports and mail that this account forwarded before are not forwarded but kept.
   * @tags mail
   * @name SetAddressForward
   * @summary Forward the mail of one of your addresses or wildcards to confirmed targets
   * @request PUT:/v1/me/address-forwards/{email}
   * @secure
   */
  export namespace SetAddressForward {
    export type RequestParams = {
      /** @maxLength 320 */
      email: string;
    };
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
      /**
       * @maxItems 20
       * @minItems 1
       */
      to: string[];
      /** @default true */
      keeps_copy?: boolean;
    };
    export type RequestHeaders = {};
    export type ResponseBody = AddressForward;
  }

  /**
   * No description
   * @tags mail
   * @name DeleteAddressForward
   * @summary Stop forwarding the mail of an address
   * @request DELETE:/v1/me/address-forwards/{email}
   * @secure
   */
  export namespace DeleteAddressForward {
    export type RequestParams = {
      /** @maxLength 320 */
      email: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name CancelMessage
   * @summary Cancel a message that has not been sent
   * @request POST:/v1/messages/{message_id}/cancel
   * @secure
   */
  export namespace CancelMessage {
    export type RequestParams = {
      /** @maxLength 100 */
      messageId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = CancelAnswer;
  }

  /**
   * @description The body is the raw RFC 5322 bytes. The envelope is in `x-envelope-from` (empty or `<>` for the null sender), `x-envelope-to` (comma-separated), `x-client-ip` and `x-helo`.
   * @tags mail
   * @name SubmitInboundMessage
   * @summary Accept a message from an SMTP gateway
   * @request POST:/v1/inbound
   * @secure
   */
  export namespace SubmitInboundMessage {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = File;
    export type RequestHeaders = {};
    export type ResponseBody = RecipientReplies;
  }

  /**
   * No description
   * @tags mail
   * @name ListInboundMessages
   * @summary Read the ledger: accepted mail and its outcomes
   * @request GET:/v1/inbound
   * @secure
   */
  export namespace ListInboundMessages {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = InboundLedger;
  }

  /**
   * No description
   * @tags mail
   * @name CheckInboundRecipient
   * @summary Check a recipient at RCPT
   * @request POST:/v1/inbound/check
   * @secure
   */
  export namespace CheckInboundRecipient {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = RecipientCheck;
    export type RequestHeaders = {};
    export type ResponseBody = RecipientReply;
  }

  /**
   * No description
   * @tags mail
   * @name GetOutboundQueue
   * @summary Read the outbound queue: totals, destinations, and messages, oldest first
   * @request GET:/v1/outbound
   * @secure
   */
  export namespace GetOutboundQueue {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
      /** @maxLength 255 */
      destination?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = OutboundQueue;
  }

  /**
   * No description
   * @tags mail
   * @name ListOutboundErrors
   * @summary Read the error queue: refused or undeliverable messages, newest first
   * @request GET:/v1/outbound/errors
   * @secure
   */
  export namespace ListOutboundErrors {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: OutboundError[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags mail
   * @name RetryOutboundMessage
   * @summary Retry the waiting recipients of a message now, or the named ones
   * @request POST:/v1/outbound/{id}/retry
   * @secure
   */
  export namespace RetryOutboundMessage {
    export type RequestParams = {
      /** @maxLength 100 */
      id: string;
    };
    export type RequestQuery = {};
    export type RequestBody = OutboundRetry;
    export type RequestHeaders = {};
    export type ResponseBody = {
      id: string;
      recipients: number;
    };
  }

  /**
   * @description A page may be short or empty although `next_cursor` is set.
   * @tags mail
   * @name ListSuppressions
   * @summary Read Cloudflare's suppression list
   * @request GET:/v1/outbound/suppressions
   * @secure
   */
  export namespace ListSuppressions {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
      /** @maxLength 320 */
      email?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: Suppression[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags mail
   * @name LiftSuppression
   * @summary Lift an entry of the suppression list, so that mail to the address is sent again
   * @request POST:/v1/outbound/suppressions/{id}/lift
   * @secure
   */
  export namespace LiftSuppression {
    export type RequestParams = {
      /** @maxLength 100 */
      id: string;
    };
    export type RequestQuery = {};
    export type RequestBody = SuppressionLift;
    export type RequestHeaders = {};
    export type ResponseBody = Suppression;
  }

  /**
   * No description
   * @tags mail
   * @name ListComplaints
   * @summary Complaints of the last 30 days by account and domain, the most first
   * @request GET:/v1/outbound/complaints
   * @secure
   */
  export namespace ListComplaints {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = Complaints;
  }

  /**
   * No description
   * @tags mail
   * @name ReleaseSending
   * @summary Release the mail that complaints hold, and reset the count of complaints
   * @request POST:/v1/outbound/complaints/{user_id}/release
   * @secure
   */
  export namespace ReleaseSending {
    export type RequestParams = {
      /** @maxLength 100 */
      userId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name GetSendingState
   * @summary Read where mail waits, what keeps it from leaving through Email Service, and what the mail of this month costs
   * @request GET:/v1/outbound/sending
   * @secure
   */
  export namespace GetSendingState {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = SendingState;
  }

  /**
   * No description
   * @tags mail
   * @name ListDomains
   * @summary List hosted domains and routes
   * @request GET:/v1/domains
   * @secure
   */
  export namespace ListDomains {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: Domain[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags mail
   * @name CreateDomain
   * @summary Add a hosted domain or a route
   * @request POST:/v1/domains
   * @secure
   */
  export namespace CreateDomain {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = NewDomain;
    export type RequestHeaders = {};
    export type ResponseBody = Domain;
  }

  /**
   * No description
   * @tags mail
   * @name GetDomain
   * @summary Read a domain with the DNS records to publish, and whether DNS has them
   * @request GET:/v1/domains/{domain}
   * @secure
   */
  export namespace GetDomain {
    export type RequestParams = {
      /** @maxLength 255 */
      domain: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = DomainDetail;
  }

  /**
   * No description
   * @tags mail
   * @name UpdateDomain
   * @summary Change alias, catch-all, transport or hold
   * @request PATCH:/v1/domains/{domain}
   * @secure
   */
  export namespace UpdateDomain {
    export type RequestParams = {
      /** @maxLength 255 */
      domain: string;
    };
    export type RequestQuery = {};
    export type RequestBody = DomainChange;
    export type RequestHeaders = {};
    export type ResponseBody = Domain;
  }

  /**
   * No description
   * @tags mail
   * @name DeleteDomain
   * @summary Delete a domain or route, and its DKIM keys
   * @request DELETE:/v1/domains/{domain}
   * @secure
   */
  export namespace DeleteDomain {
    export type RequestParams = {
      /** @maxLength 255 */
      domain: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name CreateDkimKeys
   * @summary Create an RSA-2048 and an Ed25519 DKIM key
   * @request POST:/v1/domains/{domain}/dkim-keys
   * @secure
   */
  export namespace CreateDkimKeys {
    export type RequestParams = {
      /** @maxLength 255 */
      domain: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = DomainDetail;
  }

  /**
   * No description
   * @tags mail
   * @name ListQuarantine
   * @summary List quarantined messages, newest first
   * @request GET:/v1/quarantine
   * @secure
   */
  export namespace ListQuarantine {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @min 1
       * @max 200
       * @default 50
       */
      limit?: number;
      /** @maxLength 1024 */
      cursor?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      data: QuarantinedMessage[];
      next_cursor: string | null;
    };
  }

  /**
   * No description
   * @tags mail
   * @name GetQuarantinedRawMessage
   * @summary Download the raw message, which is dangerous
   * @request GET:/v1/quarantine/{id}/raw
   * @secure
   */
  export namespace GetQuarantinedRawMessage {
    export type RequestParams = {
      /** @maxLength 100 */
      id: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name ReleaseQuarantinedMessage
   * @summary Release a message to its recipient
   * @request POST:/v1/quarantine/{id}/release
   * @secure
   */
  export namespace ReleaseQuarantinedMessage {
    export type RequestParams = {
      /** @maxLength 100 */
      id: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = {
      id: string;
      message_id: string | null;
    };
  }

  /**
   * No description
   * @tags mail
   * @name DeleteQuarantinedMessage
   * @summary Delete a quarantined message permanently
   * @request DELETE:/v1/quarantine/{id}
   * @secure
   */
  export namespace DeleteQuarantinedMessage {
    export type RequestParams = {
      /** @maxLength 100 */
      id: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name GetJmapSession
   * @summary JMAP: the session (RFC 8620 §2)
   * @request GET:/v1/jmap/session
   * @secure
   */
  export namespace GetJmapSession {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = JmapSession;
  }

  /**
   * No description
   * @tags mail
   * @name CallJmap
   * @summary JMAP: run method calls (RFC 8620 §3)
   * @request POST:/v1/jmap/api
   * @secure
   */
  export namespace CallJmap {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      using: string[];
      /** Each call is [name, arguments, id]. */
      methodCalls: any[][];
      createdIds?: Record<string, string>;
    };
    export type RequestHeaders = {};
    export type ResponseBody = JmapResponse;
  }

  /**
   * No description
   * @tags mail
   * @name UploadJmapBlob
   * @summary JMAP: upload a file; the body is its raw bytes
   * @request POST:/v1/jmap/upload/{account_id}
   * @secure
   */
  export namespace UploadJmapBlob {
    export type RequestParams = {
      /** @maxLength 255 */
      accountId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = File;
    export type RequestHeaders = {};
    export type ResponseBody = JmapUpload;
  }

  /**
   * No description
   * @tags mail
   * @name DownloadJmapBlob
   * @summary JMAP: download a blob
   * @request GET:/v1/jmap/download/{account_id}/{blob_id}/{name}
   * @secure
   */
  export namespace DownloadJmapBlob {
    export type RequestParams = {
      /** @maxLength 255 */
      accountId: string;
      /** @maxLength 255 */
      blobId: string;
      /** @maxLength 2000 */
      name: string;
    };
    export type RequestQuery = {
      /** @maxLength 200 */
      type?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = File;
  }

  /**
   * No description
   * @tags mail
   * @name DownloadJmapBlobWithoutName
   * @summary JMAP: download a blob
   * @request GET:/v1/jmap/download/{account_id}/{blob_id}/
   * @secure
   */
  export namespace DownloadJmapBlobWithoutName {
    export type RequestParams = {
      /** @maxLength 255 */
      accountId: string;
      /** @maxLength 255 */
      blobId: string;
    };
    export type RequestQuery = {
      /** @maxLength 200 */
      type?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = File;
  }

  /**
   * No description
   * @tags mail
   * @name WatchJmap
   * @summary JMAP: receive state changes as an event stream
   * @request GET:/v1/jmap/event-source
   * @secure
   */
  export namespace WatchJmap {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @maxLength 1000
       * @default "*"
       */
      types?: string;
      /** @default "no" */
      closeafter?: "state" | "no";
      /**
       * @min 0
       * @max 86400
       * @default 0
       */
      ping?: number | null;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = string;
  }

  /**
   * @description Requires the token of an agent (scopes mail:read, mail:draft, mail:send, mail:codes). Sessions and app tokens are refused.
   * @tags mail
   * @name CallMcp
   * @summary Mail for agents: the Model Context Protocol, stateless
   * @request POST:/v1/mcp
   * @secure
   */
  export namespace CallMcp {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = object;
    export type RequestHeaders = {};
    export type ResponseBody = McpAnswer;
  }

  /**
   * No description
   * @tags mail
   * @name AuthorizeAgent
   * @summary Authorization endpoint of OAuth: leads to the page that asks the person
   * @request GET:/v1/oauth/authorize
   */
  export namespace AuthorizeAgent {
    export type RequestParams = {};
    export type RequestQuery = {
      client_id?: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = any;
  }

  /**
   * No description
   * @tags mail
   * @name IssueAgentToken
   * @summary Token endpoint of OAuth: exchanges a code or a refresh token, each once
   * @request POST:/v1/oauth/token
   */
  export namespace IssueAgentToken {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      grant_type: string;
      client_id: string;
      code?: string;
      code_verifier?: string;
      redirect_uri?: string;
      refresh_token?: string;
      resource?: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = OAuthTokens;
  }

  /**
   * @description Fetches the metadata document of the client. `consent` is null if the request is wrong in a way that the client may know.
   * @tags mail
   * @name ReadConnectionRequest
   * @summary Check the request of an agent that wants to connect, and say what to ask the person
   * @request POST:/v1/me/connection-requests
   * @secure
   */
  export namespace ReadConnectionRequest {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 8000 */
      query: string;
    };
    export type RequestHeaders = {};
    export type ResponseBody = AskedConnection;
  }

  /**
   * No description
   * @tags mail
   * @name ApproveConnection
   * @summary Connect an agent, with the scopes that the person chose
   * @request POST:/v1/me/connections
   * @secure
   */
  export namespace ApproveConnection {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
      /**
       * `consent.request` of POST /v1/me/connection-requests, at most ten minutes old.
       * @maxLength 20000
       */
      request: string;
      /** @minItems 1 */
      scopes: ("mail:read" | "mail:draft" | "mail:send" | "mail:codes")[];
    };
    export type RequestHeaders = {};
    export type ResponseBody = {
      redirect_to: string;
    };
  }

  /**
   * No description
   * @tags mail
   * @name ListWaitingMessages
   * @summary List messages that agents ask to send, with recipients and text as they will leave
   * @request GET:/v1/me/waiting-messages
   * @secure
   */
  export namespace ListWaitingMessages {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = WaitingMessage[];
  }

  /**
   * @description Names the recipients and the hash of the message that the person saw. If either differs, nothing is sent.
   * @tags mail
   * @name ApproveWaitingMessage
   * @summary Send a message of an agent, exactly as it was listed
   * @request POST:/v1/me/waiting-messages/{draft_id}/send
   * @secure
   */
  export namespace ApproveWaitingMessage {
    export type RequestParams = {
      /** @maxLength 100 */
      draftId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = Approval;
    export type RequestHeaders = {};
    export type ResponseBody = {
      id: string;
    };
  }

  /**
   * No description
   * @tags mail
   * @name DeclineWaitingMessage
   * @summary Refuse to send a message of an agent; it stays a draft
   * @request DELETE:/v1/me/waiting-messages/{draft_id}
   * @secure
   */
  export namespace DeclineWaitingMessage {
    export type RequestParams = {
      /** @maxLength 100 */
      draftId: string;
    };
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = void;
  }

  /**
   * No description
   * @tags mail
   * @name GetAgentRecipients
   * @summary Addresses to which agents with the scope mail:send send without asking
   * @request GET:/v1/me/agent-recipients
   * @secure
   */
  export namespace GetAgentRecipients {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = AgentRecipients;
  }

  /**
   * No description
   * @tags mail
   * @name SetAgentRecipients
   * @summary Set the addresses to which agents with the scope mail:send send without asking
   * @request PUT:/v1/me/agent-recipients
   * @secure
   */
  export namespace SetAgentRecipients {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = {
      /**
       * @maxItems 100
       * @example ["grace@example.net"]
       */
      emails: string[];
      /** @maxLength 256 */
      password?: string;
      /** @pattern ^\d{6}$ */
      totp?: string;
      /** @maxLength 40 */
      recovery_code?: string;
      passkey?: PasskeyAssertion;
    };
    export type RequestHeaders = {};
    export type ResponseBody = AgentRecipients;
  }

  /**
   * No description
   * @tags mail
   * @name GetImapAccount
   * @summary Read the account and its folders, for a bridge to IMAP
   * @request GET:/v1/imap
   * @secure
   */
  export namespace GetImapAccount {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = ImapAccount;
  }

  /**
   * No description
   * @tags mail
   * @name ListImapMessages
   * @summary List the messages of a folder in the order of their UIDs
   * @request GET:/v1/imap/folders/{folder_id}/messages
   * @secure
   */
  export namespace ListImapMessages {
    export type RequestParams = {
      /** @maxLength 100 */
      folderId: string;
    };
    export type RequestQuery = {
      /**
       * @min 0
       * @max 4294967295
       * @default 0
       */
      after_uid?: number | null;
      /**
       * @min 1
       * @max 10000
       * @default 10000
       */
      limit?: number;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = ImapPage;
  }

  /**
   * No description
   * @tags mail
   * @name ListImapChanges
   * @summary List the messages of a folder that changed since a state
   * @request GET:/v1/imap/folders/{folder_id}/changes
   * @secure
   */
  export namespace ListImapChanges {
    export type RequestParams = {
      /** @maxLength 100 */
      folderId: string;
    };
    export type RequestQuery = {
      /**
       * A number of the change log, as a decimal string. Also the space of MODSEQ.
       * @pattern ^\d{1,15}$
       */
      since: string;
    };
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = ImapChanges;
  }

  /**
   * No description
   * @tags mail
   * @name FetchImapMessages
   * @summary Read headers and trees of parts of messages
   * @request POST:/v1/imap/fetch
   * @secure
   */
  export namespace FetchImapMessages {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = ImapFetch;
    export type RequestHeaders = {};
    export type ResponseBody = ImapFetchAnswer;
  }

  /**
   * No description
   * @tags mail
   * @name MarkImapMessages
   * @summary Add and remove keywords of messages in a folder
   * @request POST:/v1/imap/flags
   * @secure
   */
  export namespace MarkImapMessages {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = ImapFlags;
    export type RequestHeaders = {};
    export type ResponseBody = ImapFlagsAnswer;
  }

  /**
   * @description A message that is there already keeps its UID. A move into or out of Junk trains the spam filter.
   * @tags mail
   * @name CopyImapMessages
   * @summary Copy or move messages to another folder
   * @request POST:/v1/imap/copy
   * @secure
   */
  export namespace CopyImapMessages {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = ImapCopy;
    export type RequestHeaders = {};
    export type ResponseBody = ImapCopyAnswer;
  }

  /**
   * @description `message_ids: null` is all of them. If it is the last folder of a message, the message moves to Trash. In Trash, Junk and Drafts it is permanently deleted.
   * @tags mail
   * @name ExpungeImapMessages
   * @summary Remove messages with the keyword $deleted from a folder
   * @request POST:/v1/imap/expunge
   * @secure
   */
  export namespace ExpungeImapMessages {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = ImapExpunge;
    export type RequestHeaders = {};
    export type ResponseBody = ImapExpungeAnswer;
  }

  /**
   * No description
   * @tags mail
   * @name SearchImapMessages
   * @summary Find messages of a folder
   * @request POST:/v1/imap/search
   * @secure
   */
  export namespace SearchImapMessages {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = ImapSearch;
    export type RequestHeaders = {};
    export type ResponseBody = ImapSearchAnswer;
  }

  /**
   * @description A message whose bytes the mailbox has is put into the folder too, so a repeated request adds nothing. In Sent, a message that was submitted here is not stored again.
   * @tags mail
   * @name AppendImapMessage
   * @summary Put a raw message into a folder
   * @request POST:/v1/imap/append
   * @secure
   */
  export namespace AppendImapMessage {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * Id or role of the folder.
       * @minLength 1
       * @maxLength 100
       */
      folder_id: string;
      /**
       * Keywords, separated by commas.
       * @maxLength 2000
       * @default ""
       */
      keywords?: string;
      /**
       * Time of arrival, milliseconds since 1970; now by default, and never later.
       * @min 0
       * @max 8640000000000000
       */
      received_at?: number | null;
    };
    export type RequestBody = File;
    export type RequestHeaders = {};
    export type ResponseBody = ImapAppended;
  }

  /**
   * @description The bytes stay as they came, without Bcc. `from` and the From of the message must be addresses of the account. The message is in Sent afterwards.
   * @tags mail
   * @name SubmitRawMessage
   * @summary Send a raw message
   * @request POST:/v1/imap/submissions
   * @secure
   */
  export namespace SubmitRawMessage {
    export type RequestParams = {};
    export type RequestQuery = {
      /**
       * @minLength 3
       * @maxLength 320
       */
      from: string;
      /** A recipient. Repeat it for each. */
      to: string | string[];
    };
    export type RequestBody = File;
    export type RequestHeaders = {};
    export type ResponseBody = ImapSubmitted;
  }

  /**
   * No description
   * @tags service
   * @name GetApiDocument
   * @summary This document
   * @request GET:/v1/openapi.json
   */
  export namespace GetApiDocument {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = McpAnswer;
  }
}

export namespace WellKnown {
  /**
   * No description
   * @tags mail
   * @name GetMcpMetadata
   * @summary Where agents get a token for /v1/mcp (RFC 9728)
   * @request GET:/.well-known/oauth-protected-resource/v1/mcp
   */
  export namespace GetMcpMetadata {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = OAuthMetadata;
  }

  /**
   * No description
   * @tags mail
   * @name GetOAuthMetadata
   * @summary How agents get a token (RFC 8414)
   * @request GET:/.well-known/oauth-authorization-server
   */
  export namespace GetOAuthMetadata {
    export type RequestParams = {};
    export type RequestQuery = {};
    export type RequestBody = never;
    export type RequestHeaders = {};
    export type ResponseBody = OAuthMetadata;
  }
}
