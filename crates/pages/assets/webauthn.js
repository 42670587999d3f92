// A reviewer's passkey: made on one page, used on another. What it signs is the digest of the approval that the page shows.

const $ = id => document.getElementById(id);
const hex = bytes => [...new Uint8Array(bytes)].map(byte => byte.toString(16).padStart(2, "0")).join("");
const say = (place, ...texts) => place.replaceChildren(...texts.map(text => {
  const line = document.createElement(text.startsWith("proofmark ") ? "pre" : "p");
  line.textContent = text;
  return line;
}));
/** How the SubjectPublicKeyInfo of either algorithm begins; the key is what follows. */
const PREFIXES = {
  es256: "3059301306072a8648ce3d020106082a8648ce3d03010703420004",
  eddsa: "302a300506032b6570032100",
};

/** r and s, or R and S, in hex. Authenticators write those of ECDSA as a DER sequence of two integers. */
function signatureText(signature) {
  const bytes = new Uint8Array(signature);
  if (bytes.length === 64) return hex(bytes);
  const integer = at => hex(bytes.slice(at + 2, at + 2 + bytes[at + 1])).replace(/^(00)+/, "").padStart(64, "0");
  return integer(2) + integer(4 + bytes[3]);
}

/** The public key as a policy writes it. */
function keyText(spki) {
  const all = hex(spki), found = Object.entries(PREFIXES).find(([, prefix]) => all.startsWith(prefix));
  if (!found) throw new Error("the authenticator made a key of another kind");
  return `${found[0]}:${all.slice(found[1].length)}`;
}

$("make-passkey")?.addEventListener("click", async () => {
  const name = $("name").value.trim() || "NAME", made = $("made");
  try {
    const credential = await navigator.credentials.create({ publicKey: {
      // Nothing is proven here: what the passkey signs later is.
      challenge: crypto.getRandomValues(new Uint8Array(32)),
      rp: { id: location.hostname, name: "Proofmark" },
      user: { id: crypto.getRandomValues(new Uint8Array(32)), name, displayName: name },
      pubKeyCredParams: [{ type: "public-key", alg: -7 }, { type: "public-key", alg: -8 }],
      authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
      attestation: "none",
    } });
    const passkey = `${keyText(credential.response.getPublicKey())}@${location.origin}`;
    const word = /^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
    say(made, "The passkey is made. The owner of the policy adds you as a reviewer:",
      `proofmark reviewer add ${word} --passkey ${passkey} --role ROLE --policy FILE`);
  } catch (error) {
    say(made, `No passkey was made: ${error.message}`, "Passkeys need a page over https, or at http://localhost, and a device that can verify you.");
  }
});

const form = $("decide");
$("approve-with-passkey")?.addEventListener("click", async () => {
  const away = $("away"), hidden = $("passkey");
  if (!form.reportValidity() || form.dataset.sent) return;
  try {
    const fields = new URLSearchParams(new FormData(form));
    fields.delete("passkey");
    const answer = await fetch(`${location.pathname}/statement`, { method: "POST", body: fields, redirect: "error" });
    if (!answer.ok) throw new Error("the server has nothing to sign");
    const bytes = new Uint8Array(await answer.arrayBuffer()), text = new TextDecoder().decode(bytes);
    const statement = JSON.parse(text);
    const shown = $("signing");
    shown.querySelector("pre").textContent = JSON.stringify(statement, null, 2);
    shown.hidden = false;
    const { id, response } = await navigator.credentials.get({ publicKey: {
      challenge: await crypto.subtle.digest("SHA-256", bytes),
      rpId: location.hostname,
      userVerification: "required",
    } });
    hidden.value = JSON.stringify({
      receipt_id: statement.receipt_id,
      verified_at: statement.verified_at,
      credential: id,
      authenticator_data: hex(response.authenticatorData),
      client_data: new TextDecoder().decode(response.clientDataJSON),
      signature: signatureText(response.signature),
    });
    form.requestSubmit(form.querySelector("button[value=approve]"));
  } catch (error) {
    say(away, `Nothing was approved: ${error.message}`);
  }
});
