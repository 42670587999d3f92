// Checks the signed document of the page in this browser: what the server says of it is not asked.

import { verify } from "./verify.js";

const place = document.querySelector("[data-verify]"), note = document.querySelector("[data-verified]");
const line = place?.querySelector("li");

function say(words, cause) {
  line.className = "bad";
  line.querySelector("use")?.setAttribute("href", "#no");
  line.querySelector("span").textContent = words;
  const small = line.querySelector("small") ?? line.appendChild(document.createElement("small"));
  small.textContent = cause;
}

if (place && line) {
  const begun = performance.now();
  let answer = "unchecked";
  try {
    const trusted = (place.dataset.trust ?? "").split(" ").filter(Boolean);
    const found = await verify(place.dataset.verify, { trusted });
    answer = found.answer;
    const took = Math.max(1, Math.round(performance.now() - begun));
    if (note) Object.assign(note, { textContent: "checked in this browser", title: `in ${took} ms` });
    if (answer === "invalid") say("Invalid: it was changed after signing", found.message ?? "");
    else if (answer !== "valid") say("It cannot be checked", found.message ?? "");
  } catch {
    if (note) note.textContent = "checked by the server; this browser checks only over https";
  }
  document.documentElement.dataset.checked = answer;
}
