import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  epochMsOf,
  epochMsOfOrder,
  fromVersionOrder,
  isTimeuuid,
  newestOrderAt,
  orderBoundsOfSecond,
  toVersionOrder,
  VersionMint,
} from '../../../workers/storage/domain/version-order.ts';
import {
  readVolumeIndex,
  VOLUME_FOOTER_BYTES,
  VolumeBuilder,
  type VolumeEntry,
} from '../../../workers/storage/domain/volume.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
/** Fake random bytes, whose values show how many were requested. */
const bytes = (count: number) => new Uint8Array(count).fill(count);

describe('a version id', () => {
  it('sorts newest first in its stored form, and converts back', () => {
    const mint = new VersionMint(bytes);
    const times = fc.array(fc.integer({ min: 0, max: 2 ** 41 }), { minLength: 2, maxLength: 10 });
    fc.assert(
      fc.property(times, (all) => {
        const versions = all.map((time) => mint.mint(time));
        const orders = versions.map(toVersionOrder);
        expect(orders.map(fromVersionOrder)).toEqual(versions);
        // Databases return upper-case hex digits.
        const upper = orders.map((order) => order.toUpperCase());
        expect(upper.map(fromVersionOrder)).toEqual(versions);
        expect(upper.map(epochMsOfOrder)).toEqual(versions.map(epochMsOf));
        for (const order of orders) expect(order).toMatch(/^[0-9a-f]{32}$/);
        expect([...orders].sort().reverse()).toEqual(orders);
      }),
    );
  });
  it('contains its time', () => {
    const version = new VersionMint(bytes).mint(NOW);
    expect([epochMsOf(version), isTimeuuid(version)]).toEqual([NOW, true]);
    expect([epochMsOf('null'), isTimeuuid('null')]).toEqual([0, false]);
    expect(version.slice(19)).toBe('8808-090808080808');
  });
  it('sorts after the previous one, even if the clock stops or is set back', () => {
    const mint = new VersionMint(bytes);
    const versions = [mint.mint(NOW), mint.mint(NOW), mint.mint(NOW - 1000), mint.mint(NOW + 1)];
    expect(new Set(versions).size).toBe(4);
    expect(versions.map(toVersionOrder).toSorted().toReversed()).toEqual(versions.map(toVersionOrder));
    expect(versions.map(epochMsOf)).toEqual([NOW, NOW, NOW, NOW + 1]);
  });
  it('sorts directly after a given version without advancing the clock of other names', () => {
    const future = new VersionMint(bytes).mint(NOW + 60_000);
    const mint = new VersionMint(bytes);
    const above = mint.mint(NOW, future);
    expect(toVersionOrder(above) < toVersionOrder(future)).toBe(true);
    expect(epochMsOf(above)).toBe(NOW + 60_000);
    expect(epochMsOf(mint.mint(NOW + 1))).toBe(NOW + 1);
    const same = new VersionMint(bytes).mint(NOW);
    expect(toVersionOrder(new VersionMint(bytes).mint(NOW, same)) < toVersionOrder(same)).toBe(true);
    expect(epochMsOf(new VersionMint(bytes).mint(NOW, 'null'))).toBe(NOW);
    expect(epochMsOf(new VersionMint(bytes).mint(NOW, new VersionMint(bytes).mint(NOW - 1)))).toBe(NOW);
  });
  it('is within the bounds of its second, and of no other', () => {
    const second = Math.floor(NOW / 1000);
    const isWithin = (epochMs: number, random: number) => {
      const order = toVersionOrder(new VersionMint((count) => new Uint8Array(count).fill(random)).mint(epochMs));
      const { min, max } = orderBoundsOfSecond(second);
      return order >= min && order <= max;
    };
    for (const random of [0, 255]) {
      expect([0, 1, 999].map((ms) => isWithin(second * 1000 + ms, random))).toEqual([true, true, true]);
      expect([-1, 1000].map((ms) => isWithin(second * 1000 + ms, random))).toEqual([false, false]);
    }
  });
  it('is not above the bound of its millisecond, whose next one it follows', () => {
    for (const random of [0, 255]) {
      const orderAt = (ms: number) =>
        toVersionOrder(new VersionMint((count) => new Uint8Array(count).fill(random)).mint(ms));
      expect([NOW - 1, NOW, NOW + 1].map((ms) => orderAt(ms) >= newestOrderAt(NOW))).toEqual([true, true, false]);
    }
    expect(newestOrderAt(NOW)).toMatch(/^[0-9a-f]{32}$/);
  });
  it('has bounds without gaps from one second to the next, in any century', () => {
    for (const second of [Math.floor(NOW / 1000), 0, Date.UTC(1700, 0) / 1000]) {
      const { min, max } = orderBoundsOfSecond(second);
      expect([min, max]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), expect.stringMatching(/^[0-9a-f]{32}$/)]);
      expect(BigInt(`0x${min}`) - BigInt(`0x${orderBoundsOfSecond(second + 1).max}`)).toBe(1n);
    }
  });
});

describe('a volume', () => {
  const data = [Buffer.from('first'), Buffer.from('second!')];
  const entries: VolumeEntry[] = [
    { objectId: 'a', start: 0, length: 5, crc32: 1, version: { key: 'k' } },
    { objectId: 'b', at: 9, start: 5, length: 7, crc32: 2, version: null },
  ];
  const builder = new VolumeBuilder(12);
  for (const [i, entry] of entries.entries()) {
    expect(builder.append(data[i] ?? Buffer.alloc(0))).toBe(entry.start);
    builder.entries.push(entry);
  }
  const volume = builder.build();
  const changed = (offset: number, change: (bytes: Buffer, at: number) => void) => {
    const copy = Buffer.from(volume);
    change(copy, offset < 0 ? copy.length + offset : offset);
    return readVolumeIndex(copy);
  };

  it('consists of the data, the gzipped index and a footer of 64 bytes', () => {
    const footer = volume.subarray(volume.length - 64);
    const body = volume.subarray(0, volume.length - 64);
    expect(VOLUME_FOOTER_BYTES).toBe(64);
    expect(footer.subarray(0, 8).toString('latin1')).toBe('TSVOLUME');
    expect([footer.readUInt32BE(8), footer.readUInt32BE(12)]).toEqual([1, 2]);
    expect([footer.readBigUInt64BE(16), footer.readBigUInt64BE(24)]).toEqual([12n, BigInt(body.length - 12)]);
    expect(footer.subarray(32)).toEqual(createHash('sha256').update(body).digest());
    expect(body.subarray(0, 12).toString()).toBe('firstsecond!');
    expect(JSON.parse(gunzipSync(body.subarray(12)).toString())).toEqual(entries);
  });
  it('returns its index, also from a view of a larger buffer and if it is empty', () => {
    expect(readVolumeIndex(volume)).toEqual({ ok: true, value: entries });
    const within = Buffer.concat([Buffer.from('before'), volume, Buffer.from('after')]);
    expect(readVolumeIndex(within.subarray(6, 6 + volume.length))).toEqual({ ok: true, value: entries });
    expect(readVolumeIndex(new VolumeBuilder(0).build())).toEqual({ ok: true, value: [] });
  });
  it('is the same if it is longer than expected, and if bytes were dropped meanwhile', () => {
    const other = new VolumeBuilder(1);
    other.append(Buffer.from('first'));
    other.append(Buffer.from('x'.repeat(1000)));
    other.cutTo(5);
    expect(other.append(Buffer.from('second!'))).toBe(5);
    other.entries.push(...entries);
    expect(other.build()).toEqual(volume);
  });
  it('is refused if it is shorter than a footer, has another mark or version, or inconsistent lengths', () => {
    const not = { ok: false, error: { kind: 'not_a_volume' } };
    expect(readVolumeIndex(Buffer.alloc(0))).toEqual(not);
    // The file is too short, although it has the mark where the footer would begin.
    expect(readVolumeIndex(Buffer.from(`${'x'.repeat(48)}TSVOLUME`))).toEqual(not);
    expect(readVolumeIndex(volume.subarray(volume.length - 63))).toEqual(not);
    expect(readVolumeIndex(volume.subarray(volume.length - 64))).toEqual(not);
    for (const at of [-64, -57]) expect(changed(at, (copy, place) => copy.write('x', place))).toEqual(not);
    expect(changed(-56, (copy, at) => copy.writeUInt32BE(2, at))).toEqual(not);
    expect(changed(-48, (copy, at) => copy.writeBigUInt64BE(13n, at))).toEqual(not);
    expect(changed(-40, (copy, at) => copy.writeBigUInt64BE(1n, at))).toEqual(not);
  });
  it('is refused if a byte of its data, index or digest was changed', () => {
    const wrong = { ok: false, error: { kind: 'checksum' } };
    const flip = (copy: Buffer, at: number) => copy.writeUInt8(copy.readUInt8(at) ^ 1, at);
    for (const at of [0, 12, -65, -32, -1]) expect(changed(at, flip)).toEqual(wrong);
  });
});
