/** The packages of the frameworks, in the folder that `PROOFMARK_NODE_MODULES` names. */

import { existsSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { folder } from "../support.js";

export const MODULES = process.env.PROOFMARK_NODE_MODULES;
/** The oldest Node.js that the frameworks run on. */
const NODE = 22;

/** A module of the folder of packages. */
export async function load(name) {
  const place = folder(), file = join(place, "load.mjs");
  symlinkSync(MODULES, join(place, "node_modules"));
  writeFileSync(file, "export default name => import(name);");
  const { default: load } = await import(pathToFileURL(file));
  return load(name);
}

/** Why the tests of packages are left out; undefined if they are not. */
export function missing(...names) {
  const absent = names.find(name => !MODULES || !existsSync(join(MODULES, name, "package.json")));
  if (absent) return `PROOFMARK_NODE_MODULES names no folder with ${absent}`;
  return Number(process.versions.node.split(".")[0]) < NODE ? `${names[0]} needs Node.js ${NODE}` : undefined;
}
