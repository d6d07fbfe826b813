// @ts-check
/* What every script of a page uses. Text of the data reaches the page as text alone, never as HTML. */
"use strict";

const SVG = "http://www.w3.org/2000/svg";
/** How many colors and symbols there are for systems; see page.css and page.html.jinja. */
const SYMBOLS = 6;

/** Four decimals, or as many more as tell a number from a whole one: 0.99996 is not 1.0000. @param {number} value */
const fixed = (value) => {
  let places = 4;
  if (Math.abs(value - Math.round(value)) > 1e-9) while (places < 10 && Number.isInteger(Number(value.toFixed(places)))) places += 1;
  const text = value.toFixed(places);
  return Number(text) === 0 ? (0).toFixed(places) : text;
};

/** @param {number | null | undefined} value */
const shown = (value) => (value === null || value === undefined ? "–" : fixed(value));

/** A difference, with its sign. @param {number | null | undefined} value */
const signed = (value) => {
  if (value === null || value === undefined) return "–";
  const text = fixed(value);
  return Number(text) > 0 ? `+${text}` : Number(text) === 0 ? "0.0000" : text.replace("-", "−");
};

/** @param {number} value */
const grouped = (value) => value.toLocaleString("en");

/** Whole numbers alone, such as counts and verdicts, are shown as such. @param {(number | null)[]} values */
const shownLike = (values) => {
  if (!values.every((value) => value === null || Number.isInteger(value))) return shown;
  return (/** @type {number | null | undefined} */ value) => (value === null || value === undefined ? "–" : grouped(value));
};

/** @param {number} system */
const color = (system) => `var(--system-${system % SYMBOLS})`;

/** @param {string} name */
const words = (name) => name.replaceAll("_", " ");

/**
 * @param {string} tag
 * @param {Record<string, any>} [attributes] listeners under `onclick` and the like
 * @param {...(Node | string)} children
 * @returns {any}
 */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children);
  return made;
}

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {...Node} children
 */
function shape(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);

/** The symbol of a system. @param {number} system @param {Record<string, string | number>} [attributes] */
const symbol = (system, attributes = {}) => shape("use", { href: `#symbol-${system % SYMBOLS}`, fill: color(system), ...attributes });

/** @param {number} system */
const marker = (system) => shape("svg", { class: "marker", viewBox: "-8 -8 16 16", "aria-hidden": "true" }, symbol(system));

/** @param {string[]} systems */
function legend(systems) {
  return element("ul", { class: "legend" }, ...systems.map((name, system) => element("li", {}, marker(system), name)));
}

/** @param {string[]} systems @param {number} system */
const systemLabel = (systems, system) => element("span", {}, marker(system), ` ${systems[system]}`);

/** @param {string} base64 @returns {Uint8Array} */
function decoded(base64) {
  // Not every browser has the fast way yet.
  const fromBase64 = /** @type {any} */ (Uint8Array).fromBase64;
  if (fromBase64) return fromBase64.call(Uint8Array, base64);
  const packed = atob(base64);
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = packed.charCodeAt(i);
  return bytes;
}

/** @returns {Promise<any>} */
async function unpack() {
  const bytes = decoded(byId("data").textContent);
  const stream = new Blob([/** @type {any} */ (bytes)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
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
