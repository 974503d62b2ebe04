/** An engine whose clock the test controls and whose background work the test runs. */
import type { Bucket, StoredVersion } from '../../../workers/storage/engine/index.ts';
import { collectBlobs, collectUploads, emptyCollectReport } from '../../../workers/storage/maintenance/collect.ts';
import { checkLocations, checkShard } from '../../../workers/storage/maintenance/fsck.ts';
import { emptyFsckReport } from '../../../workers/storage/maintenance/fsck-report.ts';
import { walkOrphans } from '../../../workers/storage/maintenance/orphans.ts';
import { emptyPackReport, packVolume } from '../../../workers/storage/maintenance/pack.ts';
import { scrubStep } from '../../../workers/storage/maintenance/scrub.ts';
import { emptyScrubReport } from '../../../workers/storage/maintenance/scrub-report.ts';
import { makeEngine, value } from './harness.ts';

export function makeMaintainedEngine(shards = 1) {
  const clock = { offsetMs: 0 };
  // Pages are small, so that every check spans many of them.
  const limits = { checkPageRows: 3 };
  const made = makeEngine({ shards, limits, now: () => Date.now() + clock.offsetMs });
  const { context, engine } = made;
  const eachShard = async (work: (shard: number) => Promise<unknown>) => {
    for (let shard = 0; shard < context.shards.length; shard++) await work(shard);
  };
  return {
    ...made,
    clock,
    async collect() {
      const report = emptyCollectReport();
      await eachShard(async (shard) => {
        while (await collectUploads(context, shard, report));
        while (await collectBlobs(context, shard, report));
      });
      while (await walkOrphans(context, report));
      return report;
    },
    async pack() {
      const report = emptyPackReport();
      await eachShard(async (shard) => {
        while (await packVolume(context, shard, report));
      });
      return report;
    },
    async scrub() {
      const report = emptyScrubReport();
      await eachShard(async (shard) => {
        let restart = true;
        while (await scrubStep(context, shard, 1e9, report, { restart })) restart = false;
      });
      return report;
    },
    async fsck(isDryRun = true) {
      const report = emptyFsckReport(isDryRun);
      await eachShard((shard) => checkShard(context, shard, report));
      await checkLocations(context, report);
      return report;
    },
    async version(bucket: Bucket, name: string): Promise<StoredVersion> {
      return value(await engine.getVersion(bucket, name));
    },
    async listKeys(location = 0) {
      const keys: string[] = [];
      for (let startAfter: string | undefined; ; ) {
        const page = await (context.locations[location] as R2Bucket).list({
          prefix: 'blobs/',
          ...(startAfter ? { startAfter } : {}),
        });
        keys.push(...page.objects.map((object) => object.key));
        if (!page.truncated) return keys;
        startAfter = keys.at(-1);
      }
    },
  };
}
