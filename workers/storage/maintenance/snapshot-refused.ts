/** Thrown when a snapshot is not written because the database may be the wrong one. The message gives the reason. */
export class SnapshotRefused extends Error {}
