/** Returns the element at an index that must exist. @throws RangeError if it does not. */
export function at<T>(list: readonly T[], index: number): T {
  const element = list[index];
  if (element === undefined) throw new RangeError(`no element at ${index} of ${list.length}`);
  return element;
}
