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
