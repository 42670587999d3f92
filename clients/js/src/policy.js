/** Which logs and witnesses are known, and which witnesses are enough (C2SP tlog-policy). */

import { COSIGNATURE_KEY, NOTE_KEY, readVkey } from "./note.js";
import { Refused } from "./refused.js";
import { decimal, fromLatin1, fromUtf8, hex, latin1, lossy, shown } from "./text.js";

/** @typedef {import("./checkpoint.js").Cosignature} Cosignature */
/** @typedef {import("./note.js").Vkey} Vkey */
/** @typedef {{ witness: Vkey } | { threshold: number, members: Member[] }} Member a witness or a group */

/** How many bytes a policy has at most. */
const MAX_BYTES = 256 << 10;
/** How many logs, witnesses and groups a policy has at most, of each. */
const MAX_ITEMS = 256;
/** The quorum that asks for no witness. */
const NONE = "none";

/**
 * @typedef {object} Policy
 * @property {Vkey[]} logs
 * @property {Vkey[]} witnesses known ones, whether the quorum asks for them or not
 * @property {Member | null} quorum null when it asks for none
 */

/**
 * Reads a policy file.
 *
 * @param {Uint8Array} bytes
 * @returns {Promise<Policy>}
 * @throws {Refused} `malformed_policy` or `too_large`, with the first line that is wrong
 */
export async function readPolicy(bytes) {
  if (bytes.length > MAX_BYTES) {
    throw new Refused("too_large", `the policy has ${bytes.length} bytes: at most ${MAX_BYTES} are read`);
  }
  const reader = new Reader();
  // Names are bytes, which need not be UTF-8.
  for (const [index, line] of latin1(bytes).split(/(?<=\n)/).entries()) {
    try {
      if (!line.endsWith("\n") && line !== "") throw fault("it does not end with a line feed");
      await reader.line(line.slice(0, -1));
    } catch (error) {
      if (!(error instanceof Refused) || error.code === "cannot_check_here") throw error;
      throw new Refused(error.code, `line ${index + 1} of the policy: ${error.message}`);
    }
  }
  const { logs, witnesses, quorum } = reader;
  if (quorum === undefined) throw fault("the policy has no `quorum` line: write `quorum <name>`, or `quorum none`");
  return { logs, witnesses, quorum };
}

/**
 * Whether these cosignatures are enough. Those of other witnesses do not count.
 *
 * @param {Policy} policy @param {readonly Cosignature[]} cosignatures
 */
export function isMetBy(policy, cosignatures) {
  const keys = new Set(cosignatures.map(({ key }) => hex(key.key)));
  // Every witness and group is a member of one group at most, so this looks at each once.
  /** @type {(member: Member) => boolean} */
  const has = member =>
    "witness" in member ? keys.has(hex(member.witness.key)) : member.members.filter(has).length >= member.threshold;
  return policy.quorum === null || has(policy.quorum);
}

/** What the lines read so far have defined. */
class Reader {
  constructor() {
    /** @type {Vkey[]} */
    this.logs = [];
    /** @type {Vkey[]} */
    this.witnesses = [];
    this.groups = 0;
    /** @type {Member | null | undefined} */
    this.quorum = undefined;
    /** @type {Map<string, Member>} */
    this.names = new Map();
    /** @type {Set<Member>} */
    this.grouped = new Set();
  }

  /** @param {string} line without its line feed */
  async line(line) {
    if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(line)) throw fault("it has a control character other than tabs");
    const [keyword, ...words] = line.split(/[ \t]+/).filter(word => word !== "");
    if (keyword === undefined || keyword.startsWith("#")) return;
    const [first, second, ...more] = words;
    if (keyword === "log" && first !== undefined && words.length <= 2) return this.log(first);
    if (second !== undefined && first !== undefined) {
      if (keyword === "witness" && words.length <= 3) return this.witness(first, second);
      if (keyword === "group") return this.group(first, second, more);
    }
    if (keyword === "quorum" && first !== undefined && words.length === 1) return this.setQuorum(first);
    const isKnown = ["log", "witness", "group", "quorum"].includes(keyword);
    throw fault(`\`${quoted(keyword)}\` ${isKnown ? "has another number of words" : "is not `log`, `witness`, `group` or `quorum`"}`);
  }

  /** @param {string} vkey */
  async log(vkey) {
    const key = await readKey(vkey, NOTE_KEY);
    if (this.logs.some(other => hex(other.key) === hex(key.key))) throw twice(key);
    checkCount(this.logs.length);
    this.logs.push(key);
  }

  /** @param {string} name @param {string} vkey */
  async witness(name, vkey) {
    const key = await readKey(vkey, COSIGNATURE_KEY);
    if (this.witnesses.some(other => hex(other.key) === hex(key.key))) throw twice(key);
    checkCount(this.witnesses.length);
    this.witnesses.push(key);
    this.define(name, { witness: key });
  }

  /** @param {string} name @param {string} word `all`, `any` or a number @param {string[]} names */
  group(name, word, names) {
    const members = names.map(name => {
      const member = this.named(name);
      // So each witness counts in one way only.
      if (this.grouped.has(member)) throw fault(`\`${quoted(name)}\` is a member of a group before`);
      this.grouped.add(member);
      return member;
    });
    const threshold = word === "all" ? members.length : word === "any" ? 1 : Number(decimal(word) ?? 0n);
    if (threshold < 1 || threshold > members.length) {
      throw fault("a group is `group <name> all|any|<k> <name>…`, with `k` from 1 to the number of members");
    }
    checkCount(this.groups++);
    this.define(name, { threshold, members });
  }

  /** @param {string} name */
  setQuorum(name) {
    const quorum = name === NONE ? null : this.named(name);
    if (this.quorum !== undefined) throw fault("a second `quorum`");
    this.quorum = quorum;
  }

  /** @param {string} name @param {Member} member */
  define(name, member) {
    if (name === NONE) throw fault("the name `none` has a meaning of its own");
    if (this.names.has(name)) throw fault(`the name \`${quoted(name)}\` is defined on a line before`);
    this.names.set(name, member);
  }

  /** @param {string} name */
  named(name) {
    const member = this.names.get(name);
    if (!member) throw fault(`\`${quoted(name)}\` is not defined on a line before`);
    return member;
  }
}

/** @param {string} word @param {number} type */
async function readKey(word, type) {
  const text = fromUtf8(fromLatin1(word));
  if (text === null) throw fault("the verifier key is not UTF-8");
  const key = await readVkey(text).catch(error => {
    throw error instanceof Refused && error.code === "malformed_vkey" ? fault(error.message) : error;
  });
  if (key.type === type) return key;
  throw fault(type === NOTE_KEY ? "the key of a log is of type 1, and this one is of type 4"
    : "the key of a witness is of type 4, and this one is of type 1");
}

/** @param {number} count of a kind, without the next */
function checkCount(count) {
  if (count >= MAX_ITEMS) throw new Refused("too_large", `more than ${MAX_ITEMS} of a kind`);
}

/** @param {Vkey} key */
function twice(key) {
  return fault(`the key of \`${shown(key.name)}\` stands on a line before`);
}

/** @param {string} message */
function fault(message) {
  return new Refused("malformed_policy", message);
}

/** @param {string} word */
function quoted(word) {
  return shown(lossy(fromLatin1(word)));
}
