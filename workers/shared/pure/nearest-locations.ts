/** Orders the locations for the reads of a request: the nearest to the client first. */

/** The approximate centre of each R2 region's data centres: latitude and longitude in degrees. */
const PLACES: Readonly<Record<string, readonly [number, number]>> = {
  wnam: [40, -120],
  enam: [39, -77],
  weur: [50, 4],
  eeur: [51, 21],
  apac: [15, 115],
  oc: [-34, 150],
};

export const isRegionList = (value: string): boolean => value.split(',').every((region) => region in PLACES);

/** A measure that grows with the distance of two places on the globe, from 0 to 1 (the haversine). */
function distanceOf([lat1, lon1]: readonly [number, number], [lat2, lon2]: readonly [number, number]): number {
  const radians = Math.PI / 180;
  const across = Math.sin(((lat2 - lat1) * radians) / 2) ** 2;
  return across + Math.cos(lat1 * radians) * Math.cos(lat2 * radians) * Math.sin(((lon2 - lon1) * radians) / 2) ** 2;
}

/**
 * The numbers of the locations, in the order in which a request reads them.
 * @param regions regions of the locations, in the order of the bindings, separated by commas. Locations without a region come last.
 * @param client coordinates of the client (`request.cf`). Without them, the order of the bindings applies.
 */
export function orderLocations(
  count: number,
  regions: string,
  client: { readonly latitude?: unknown; readonly longitude?: unknown } = {},
): readonly number[] {
  const from = [Number.parseFloat(String(client.latitude)), Number.parseFloat(String(client.longitude))] as const;
  const distances = regions.split(',').map((region) => {
    const place = PLACES[region];
    return place && !from.some(Number.isNaN) ? distanceOf(from, place) : 2;
  });
  const order = Array.from({ length: count }, (_, location) => location);
  return order.sort((a, b) => (distances[a] ?? 2) - (distances[b] ?? 2));
}
