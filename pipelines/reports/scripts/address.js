// @ts-check
/* What a page shows is said by its address: #SECTION?NAME=VALUE&..., so that a link, a reload and a step back show it again. */
"use strict";

/** Filters, orders and the open sample, by name. */
let state = new URLSearchParams();
let section = "";
/** What follows the address: `isLink` where a link, and not the reader, has changed it. @type {((isLink: boolean) => void)[]} */
const followers = [];

/** @param {string} name */
const stateOf = (name) => state.get(name) ?? "";

/** Follows the address. One without a "?" names a section alone, and keeps what is filtered. */
function readAddress() {
  const [, name, query] = /** @type {RegExpExecArray} */ (/^#?([^?]*)\??(.*)$/s.exec(location.hash));
  const isLink = location.hash.includes("?");
  section = name;
  if (isLink) state = new URLSearchParams(query);
  else if (state.size) setState({});
  for (const follow of followers) follow(isLink);
  // The tables above have their heights by now.
  if (name) byId(name)?.scrollIntoView();
}

/** Writes some values into the address; an empty one removes its name. @param {Record<string, string>} changes @param {boolean} [isStep] whether a step back undoes it */
function setState(changes, isStep = false) {
  for (const [name, value] of Object.entries(changes)) if (value === "") state.delete(name); else state.set(name, value);
  const address = `#${section}${state.size ? `?${state}` : ""}`;
  if (address !== (location.hash || "#")) window.history[isStep ? "pushState" : "replaceState"](null, "", address);
}

window.addEventListener("hashchange", readAddress);

/** The address of samples that pass some filters. @param {Record<string, string>} filters */
const samplesLink = (filters) => `#samples?${new URLSearchParams(filters)}`;

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
    for (const { input, name, unset } of fields) input.value = state.has(name) ? stateOf(name).trim() : unset;
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
