/** Problem codes of the routes that operate storage. S3 requests have error codes of their own. */
import type { ProblemCodeTable } from './entry.ts';

export const STORAGE_CODES = {
  no_such_object: {
    statuses: [404],
    meaning: 'The bucket has no such object or version.',
    action: 'Check the name and the version id.',
  },
  no_such_bucket: { statuses: [404, 409], meaning: 'No bucket has this name.', action: 'Check the name.' },
  no_such_shard: {
    statuses: [404, 409],
    meaning: 'No `OBJECTS_n` database has this number.',
    action: 'Use a number that `GET /v1/storage/stats` lists.',
  },
  bucket_sealed: {
    statuses: [409],
    meaning: 'The bucket is being deleted, so no slot of it moves.',
    action: 'Retry if the bucket still exists a minute later.',
  },
  copy_differs: {
    statuses: [409],
    meaning: 'The copy of a slot differs from its source, so the move was given up. The source stays in use.',
    action: 'Run `POST /v1/storage/fsck`, then retry.',
  },
  access_denied: {
    statuses: [403],
    meaning: 'The user may not list the bucket, or not any more while its job runs.',
    action: 'Ask the owner of the bucket for the permission.',
  },
  job_ended: {
    statuses: [409],
    meaning: 'The job has already ended.',
    action: 'Read it to see what it has done.',
  },
  no_such_job: {
    statuses: [404],
    meaning: 'No job has this id, or it is not yours, or it ended more than 30 days ago.',
    action: 'Check the id with `GET /v1/storage/jobs`.',
  },
  not_versioned: {
    statuses: [409],
    meaning: 'The bucket has never kept versions, so nothing can be restored.',
    action: 'Enable versioning before the next change.',
  },
  taken_down: {
    statuses: [409],
    meaning: 'The operator has taken the bucket down, so no job runs over it.',
    action: 'Ask the operator.',
  },
  source_refused: {
    statuses: [400],
    meaning:
      'The endpoint of a pull is not a public name over https. As the end of a job: the source refused a listing.',
    action: 'Name a public host at port 443 or 8443. If the job ended so, check endpoint, region and bucket.',
  },
  too_many_jobs: {
    statuses: [409],
    meaning: 'The user has 20 jobs that have not ended.',
    action: 'Wait until one has ended, or cancel one.',
  },
  no_such_quota: {
    statuses: [404],
    meaning: 'The bucket or user has no storage quota.',
    action: 'Set one with `PUT` on the same path.',
  },
  database_empty: {
    statuses: [409],
    meaning: 'The database is empty, so there is nothing to replay a journal into.',
    action: 'Call `POST /v1/storage/rebuild`.',
  },
  directory_older: {
    statuses: [409],
    meaning: '`DIRECTORY` was put back to an earlier state too. The shards need its buckets.',
    action: 'Call `POST /v1/storage/directory/replay` first.',
  },
  not_empty: {
    statuses: [409],
    meaning: 'Only an empty database can be rebuilt, and only an empty installation can be rescued into.',
    action: 'Bind a new, empty database and apply the migrations.',
  },
  no_s3_location: {
    statuses: [409],
    meaning: 'The deployment has no S3 location, or the location has no id of an installation.',
    action: 'Set `S3_LOCATION`, `S3_LOCATION_ENDPOINT` and both parts of the credential.',
  },
  snapshot_refused: {
    statuses: [409],
    meaning: 'No snapshot was written, because the database is not the one that the stored bytes belong to.',
    action: 'Follow the alarm in `GET /v1/collectors`.',
  },
  taken_over: {
    statuses: [409],
    meaning: 'Another request took over the move of the slot.',
    action: 'Wait, then check with `GET /v1/storage/stats`.',
  },
  temporary_key: {
    statuses: [403],
    meaning: 'The request was signed with a temporary key, which starts no work that could outlive it.',
    action: 'Sign with the access key from which it was made.',
  },
  no_such_link: {
    statuses: [404],
    meaning: 'The share link has ended, never existed, or opens something that is gone.',
    action: 'Ask for a new link.',
  },
  link_password_required: {
    statuses: [401],
    meaning: 'The share link needs a password.',
    action: 'Send it by Basic authentication, with any user name.',
  },
  link_password_wrong: {
    statuses: [403],
    meaning: 'The password of the share link is another one.',
    action: 'Check it, or ask for a new link.',
  },
  links_of_users: {
    statuses: [403],
    meaning: 'A share link has the rights of a user, and the caller is none.',
    action: 'Use an access key or a token of a user.',
  },
  under_way: {
    statuses: [409],
    meaning: 'A rebuild or a replay of this database is already running.',
    action: 'Wait for the other request.',
  },
} as const satisfies ProblemCodeTable;
