// Keeps an open page current (spec 7.4): when the ledger changes the page is asked for again and the parts marked
// `data-live` are put in place of the old ones. What a person writes, has opened or has in focus stays as it is.

const main = document.getElementById("main");
let revision = main?.dataset.revision;
let source = null;

/** Live parts as they were served: what this file adds to them later is no change. */
const served = new Map();
for (const part of document.querySelectorAll("[data-live]")) served.set(part.id, essence(part));

/** Keys and times differ in every answer and are no change either. */
function essence(part) {
  return part.innerHTML
    .replace(/name="key" value="[^"]*"/g, "")
    .replace(/(<time[^>]*>)[^<]*/g, "$1");
}

async function refresh(next) {
  if (next === revision) return;
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!answer.ok || fresh.querySelector("[data-live]") === null) return;
  revision = fresh.getElementById("main").dataset.revision;
  for (const part of fresh.querySelectorAll("[data-live]")) {
    const old = document.getElementById(part.id);
    if (served.get(part.id) === essence(part) || old === null) continue;
    served.set(part.id, essence(part));
    replace(old, part);
  }
  tick();
}

function replace(old, part) {
  const href = old.contains(document.activeElement) && document.activeElement.getAttribute("href");
  for (const detail of part.querySelectorAll("details[id]")) {
    const known = document.getElementById(detail.id);
    if (known !== null) detail.open = known.open;
  }
  old.replaceChildren(...part.childNodes);
  if (href) old.querySelector(`a[href="${CSS.escape(href)}"]`)?.focus();
  addCopying(old);
}

function listen() {
  source?.close();
  if (document.hidden || main?.querySelector("[data-live]") === null) return;
  source = new EventSource("/events");
  source.addEventListener("open", () => say("Live"));
  source.addEventListener("error", () => say("Reconnecting…"));
  source.addEventListener("message", ({ data }) => {
    refresh(data).catch(() => say("Reconnecting…"));
  });
}

function say(words) {
  const live = document.getElementById("live");
  if (live === null || live.textContent === words) return;
  live.textContent = words;
  live.dataset.on = String(words === "Live");
}

const units = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
];

/** The same words as `span` in page.ts. */
function span(seconds, count) {
  const first = units.findIndex(([, size]) => seconds >= size);
  if (first === -1) return "0s";
  let rest = seconds;
  const parts = units.map(([name, size]) => {
    const amount = Math.floor(rest / size);
    rest -= amount * size;
    return amount > 0 ? `${amount}${name}` : "";
  });
  return parts
    .slice(first, first + count)
    .filter((part) => part !== "")
    .join(" ");
}

function tick() {
  for (const time of document.querySelectorAll("time[data-time]")) {
    const left = Math.round((new Date(time.dateTime) - Date.now()) / 1_000);
    const words = { until: left <= 0 ? "now" : `in ${span(left, 2)}` };
    words.since = -left < 60 ? "just now" : `${span(-left, 1)} ago`;
    const text = words[time.dataset.time];
    if (text !== undefined && time.textContent !== text) time.textContent = text;
  }
}

function addCopying(place) {
  for (const code of place.querySelectorAll("[data-copy]")) {
    const button = document.createElement("button");
    button.textContent = "Copy";
    button.className = "copy";
    button.addEventListener("click", () => {
      const copying = navigator.clipboard.writeText(code.textContent);
      void copying.then(() => (button.textContent = "Copied"));
    });
    code.after(button);
  }
}

document.addEventListener("keydown", (event) => {
  const isSend = event.key === "Enter" && (event.ctrlKey || event.metaKey);
  if (isSend) event.target.form?.requestSubmit();
});
document.addEventListener("visibilitychange", listen);
addCopying(document);
setInterval(tick, 1_000);
listen();
