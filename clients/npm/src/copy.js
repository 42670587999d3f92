/** Copies of the tools of frameworks. */

/**
 * A copy with `members` in place of its own. It has all others, also those that are hidden, as some of the SDKs' are.
 *
 * @param {object} original
 * @param {object} members
 * @returns {any}
 */
export function copyWith(original, members) {
  const all = { ...Object.getOwnPropertyDescriptors(original), ...Object.getOwnPropertyDescriptors(members) };
  return Object.create(Object.getPrototypeOf(original), all);
}
