/** Text from outside, of which nothing is hidden: what cannot be seen, or changes the order of what can, becomes a word. */

/** Line breaks and tabs are layout. A space is the only blank that shows as itself. */
const UNSEEN = /(?:(?![\n\t ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800])+/gu;
/** Of a longer run only so many are named. */
const MAX_NAMED = 6;

/**
 * The pieces of a text in order.
 *
 * @param {string} text
 * @param {number} [most] of a longer text, only so many characters
 * @returns {{ text: string, unseen: boolean }[]} `unseen` pieces name characters, as in `U+202E`
 */
export function pieces(text, most = Infinity) {
  const kept = text.length > most ? text.slice(0, most) : text;
  const found = [];
  let from = 0;
  for (const match of kept.matchAll(UNSEEN)) {
    if (match.index > from) found.push({ text: kept.slice(from, match.index), unseen: false });
    found.push({ text: named(match[0]), unseen: true });
    from = match.index + match[0].length;
  }
  if (from < kept.length) found.push({ text: kept.slice(from), unseen: false });
  return found;
}

/** @param {string} run */
function named(run) {
  const characters = [...run];
  const names = characters.slice(0, MAX_NAMED).map(char => `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`);
  const more = characters.length - names.length;
  return names.join(" ") + (more > 0 ? ` and ${more.toLocaleString("en")} more` : "");
}
