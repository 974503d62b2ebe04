/** A snapshot is not written, because the database may not be the right one. The message says why. */
export class SnapshotRefused extends Error {}
