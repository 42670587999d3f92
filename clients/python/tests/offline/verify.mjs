/** Reads documents from standard input, and prints what the package for JavaScript says of each. */

import { readFileSync } from "node:fs";

const { package: url, documents, profile, trusted } = JSON.parse(readFileSync(0, "utf8"));
const { verify } = await import(url);
const said = [];
for (const document of documents) {
  const found = await verify(Buffer.from(document, "base64"), { profile, trusted });
  const { kind, answer, trust, cause, message, help, signer, wouldVerifyUnder } = found;
  const printed = { document: kind, answer, trust, cause, message, help, signer_id: signer, would_verify_under: wouldVerifyUnder };
  said.push(Object.fromEntries(Object.entries(printed).filter(([, value]) => value !== null)));
}
process.stdout.write(JSON.stringify(said));
