// @ts-check
/* What every script of a page uses. Text of the data reaches the page as text alone, never as HTML. */
"use strict";

const SVG = "http://www.w3.org/2000/svg";
/** The marks of systems, in the colors of page.css. */
const MARKS = "●■▲◆★✚";

/** Four decimals, or as many more as tell a number from a whole one: 0.99996 is not 1.0000. @param {number} value */
const fixed = (value) => {
  let places = 4;
  if (Math.abs(value - Math.round(value)) > 1e-9) while (places < 10 && Number.isInteger(Number(value.toFixed(places)))) places += 1;
  const text = value.toFixed(places);
  return Number(text) === 0 ? (0).toFixed(places) : text;
};

/** @param {number | null | undefined} value */
const shown = (value) => (value === null || value === undefined ? "–" : fixed(value).replace("-", "−"));

/** A difference, with its sign. @param {number | null | undefined} value */
const signed = (value) => {
  const text = shown(value);
  return Number(text) > 0 ? `+${text}` : text;
};

/** @param {number} value */
const grouped = (value) => value.toLocaleString("en");

/** Whole numbers alone, such as counts and verdicts, are shown as such. @param {(number | null)[]} values */
const shownLike = (values) => {
  if (!values.every((value) => value === null || Number.isInteger(value))) return shown;
  return (/** @type {number | null | undefined} */ value) => (value === null || value === undefined ? "–" : grouped(value));
};

/** The lowest and the highest of some values and the ends of their intervals. @param {Measured[]} measured @returns {[number, number]} */
function extentOf(measured) {
  let [least, most] = [Infinity, -Infinity];
  for (const { value, low, high } of measured) for (const end of [value, low, high]) if (end !== null) [least, most] = [Math.min(least, end), Math.max(most, end)];
  return [least, most];
}

/** @param {number} system */
const color = (system) => `var(--system-${system % MARKS.length})`;

/** @param {string} name */
const words = (name) => name.replaceAll("_", " ");

/**
 * @param {Element} made
 * @param {Record<string, any>} attributes listeners under `onclick` and the like
 * @param {(Node | string)[]} children
 * @returns {any}
 */
function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children);
  return made;
}

/** @param {string} tag @param {Record<string, any>} [attributes] @param {...(Node | string)} children */
const element = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);

/** @param {string} tag @param {Record<string, any>} attributes @param {...(Node | string)} children */
const shape = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);

/** Places of metrics, that of the lead metric first. @param {ReportDocument} doc @param {number[]} places */
const leadFirst = (doc, places) => places.toSorted((a, b) => Number(doc.metrics[b].name === doc.lead) - Number(doc.metrics[a].name === doc.lead) || a - b);

/** @param {string[]} systems @param {number} system */
const systemLabel = (systems, system) => element("span", {}, element("span", { "aria-hidden": "true", style: `color: ${color(system)}` }, MARKS[system % MARKS.length]), ` ${systems[system]}`);

/* What a page shows is said by its address: #SECTION?NAME=VALUE&..., so that a link, a reload and a step back show it again. */

/** Filters, orders and the open sample, by name. */
let state = new URLSearchParams();
let section = "";
/** What follows the address: `isLink` where a link, and not the reader, has changed it. @type {((isLink: boolean) => void)[]} */
const followers = [];

/** @param {string} name */
const stateOf = (name) => state.get(name) ?? "";

/** Follows the address. One without a "?" names a section alone, and keeps what is filtered; it gets one, for a step back to it. */
function readAddress() {
  const [, name, query] = /** @type {RegExpExecArray} */ (/^#?([^?]*)\??(.*)$/s.exec(location.hash));
  const isLink = location.hash === "" || location.hash.includes("?");
  section = name;
  if (isLink) state = new URLSearchParams(query);
  else setState({});
  for (const follow of followers) follow(isLink);
  const target = name ? byId(name) : null, heading = target?.querySelector("h2");
  // The tables above have their heights by now.
  target?.scrollIntoView();
  // The keyboard goes on from there, and stays where it is there already: a step back within a table is none out of it.
  if (!heading || target.contains(document.activeElement)) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

/** Writes some values into the address; an empty one removes its name. @param {Record<string, string>} changes @param {boolean} [isStep] whether a step back undoes it */
function setState(changes, isStep = false) {
  for (const [name, value] of Object.entries(changes)) if (value === "") state.delete(name); else state.set(name, value);
  const address = `#${section}?${state}`;
  if (address !== (location.hash || "#?")) window.history[isStep ? "pushState" : "replaceState"](null, "", address);
}

window.addEventListener("hashchange", readAddress);
// A link to the address that the page has changes nothing, and is followed all the same.
window.addEventListener("click", (event) => {
  const link = /** @type {HTMLElement} */ (event.target).closest("a"), isSection = link?.getAttribute("href") === `#${section}`;
  if (isSection && !event.ctrlKey && !event.metaKey && !event.shiftKey) event.preventDefault();
  if (isSection || link?.href === location.href) readAddress();
});

/**
 * What can be asked of the rows of a table: a control with a name, and what its value asks.
 * @typedef {{control: any, test: (value: string) => (row: number) => boolean}} Filter
 */

/**
 * Fills a form with filters that the address holds under `scope` and the name of the control.
 * @param {any} form
 * @param {string} scope
 * @param {Filter[]} filters
 * @param {(passes: (row: number) => boolean, isLink: boolean) => string} show shows the rows that pass; says how many
 */
function filterBy(form, scope, filters, show) {
  const fields = filters.map(({ control, test }) => {
    const input = control.querySelector("input, select");
    return { input, test, name: scope + input.name, unset: input.value };
  });
  const count = element("output", { class: "count", "aria-live": "polite" });
  form.replaceChildren(...filters.map(({ control }) => control), element("button", { type: "reset", class: "action" }, "Clear"), count);
  const apply = (isLink = false) => {
    const tests = fields.filter(({ input }) => input.value !== "").map(({ input, test }) => test(input.value));
    count.textContent = show((row) => tests.every((test) => test(row)), isLink);
  };
  const write = () => {
    setState(Object.fromEntries(fields.map(({ input, name, unset }) => [name, input.value === unset ? "" : input.value || " "])));
    apply();
  };
  form.addEventListener("submit", (/** @type {Event} */ event) => event.preventDefault());
  form.addEventListener("input", write);
  form.addEventListener("reset", () => setTimeout(write));
  followers.push((isLink) => {
    for (const { input, name, unset } of fields) {
      const wanted = state.has(name) ? stateOf(name).trim() : unset;
      input.value = wanted;
      // What the address asks for and no row has is shown as that, and no row passes.
      if (input instanceof HTMLSelectElement && input.value !== wanted) input.add(new Option(wanted, wanted, false, true));
    }
    apply(isLink);
  });
}

/** @param {string} name @param {string} label @param {[string, string][]} choices */
const choice = (name, label, choices) =>
  element("label", {}, label, element("select", { name }, ...choices.map(([value, text]) => element("option", { value }, text))));

/** @param {string} label @param {Record<string, any>} attributes */
const field = (label, attributes) => element("label", {}, label, element("input", { autocomplete: "off", spellcheck: "false", ...attributes }));

/** A filter by one of a few texts. @param {string} name @param {string} label @param {string[]} texts @param {(row: number, text: string) => boolean} test @param {(text: string) => string} [write] @returns {Filter} */
const oneOf = (name, label, texts, test, write = (text) => text) => ({
  control: choice(name, label, [["", "all"], .../** @type {[string, string][]} */ (texts.map((text) => [text, write(text)]))]),
  test: (value) => (row) => test(row, value),
});

/** A filter by a part of a text. @param {string} name @param {string} label @param {(row: number) => string} text @returns {Filter} */
const contains = (name, label, text) => ({
  control: field(label, { type: "search", name }),
  test: (value) => { const wanted = value.trim().toLowerCase(); return (row) => text(row).toLowerCase().includes(wanted); },
});

/** A filter by a number. @param {string} label @param {Record<string, any>} attributes @param {(row: number, bound: number) => boolean} test @returns {Filter} */
const bounded = (label, attributes, test) => ({
  control: field(label, { type: "number", step: "any", ...attributes }),
  test: (value) => (row) => test(row, Number(value)),
});

/** @returns {Promise<any>} */
async function unpack() {
  const packed = atob(byId("data").textContent), bytes = new Uint8Array(packed.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = packed.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

/** Shows the data of the page, then what its address asks for; says so where that fails. @param {(documents: ReportDocument[]) => void} show */
function start(show) {
  unpack()
    .then((documents) => {
      show(documents);
      readAddress();
      document.documentElement.dataset.ready = String(Math.round(performance.now()));
    })
    .catch((error) => {
      const problem = byId("problem");
      problem.textContent = `The tables of this page could not be shown: ${error}. The Markdown report beside it has the numbers.`;
      problem.hidden = false;
      throw error;
    });
}
