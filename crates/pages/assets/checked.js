// Checks in this browser that the document of the page is signed and is in the log, without relying on what the server says of it.

import { verifyProof } from "./proof.js";
import { verify } from "./verify.js";

const place = document.querySelector("[data-verify]"), note = document.querySelector("[data-verified]");
const logged = place?.querySelector("[data-log-proof]");

function say(line, words, cause) {
  line.className = "bad";
  line.querySelector("use")?.setAttribute("href", "#no");
  line.querySelector("span").textContent = words;
  const small = line.querySelector("small") ?? line.appendChild(document.createElement("small"));
  small.textContent = cause;
}

/** Whether the log proves it, if the server has a log: the answer of the document otherwise. */
async function proven(answer) {
  if (answer !== "valid" || !logged) return answer;
  const found = await verifyProof(logged.dataset.logProof, place.dataset.verify, { policy: logged.dataset.logPolicy });
  if (found.answer !== "valid") say(logged, "The log does not prove that it has this receipt", found.reason ?? "");
  return found.answer;
}

if (place) {
  const begun = performance.now(), line = place.querySelector("li");
  let answer = "unchecked";
  try {
    const trusted = (place.dataset.trust ?? "").split(" ").filter(Boolean);
    const found = await verify(place.dataset.verify, { trusted });
    if (found.answer === "invalid") say(line, "Invalid: it was changed after signing", found.message ?? "");
    else if (found.answer !== "valid") say(line, "It cannot be checked", found.message ?? "");
    answer = await proven(found.answer);
    const took = Math.max(1, Math.round(performance.now() - begun));
    if (note) Object.assign(note, { textContent: "checked in this browser", title: `in ${took} ms` });
  } catch {
    if (note) note.textContent = "checked by the server; this browser checks only over https";
  }
  document.documentElement.dataset.checked = answer;
}
