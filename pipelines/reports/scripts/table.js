// @ts-check
/* A table that is sorted, walked through by keyboard and copied; of its rows only those in sight are in the document. */
"use strict";

/**
 * A column: `value` is sorted and copied, null comes last; `cell` is shown, or else `text`. The address has its `key`, or
 * else its `title`.
 * @typedef {{title: string, key?: string, meaning?: string, value: (row: number) => string | number | null | undefined,
 *   text?: (row: number) => string, cell?: (row: number) => Node, isNumber?: boolean, isPrinted?: boolean, width?: number}} Column
 */

const PAGE_ROWS = 10;
const MARGIN_ROWS = 8;
const PRINTED_ROWS = 1000;
/** Longer texts are wrapped on paper. */
const PRINTED_CHARACTERS = 15;

/** A name that may be broken after its dots and underscores. @param {string} name */
const breakable = (name) => name.split(/(?<=[._])/).flatMap((part, index) => (index ? [element("wbr"), part] : [part]));

/** @param {Column} column */
const keyOf = (column) => column.key ?? column.title;

/** @param {Column} column */
const classOf = (column) => (column.isPrinted === false ? "unprinted" : column.isNumber ? "number" : null);

/** A cell as a spreadsheet takes it: a number plain, no text as a formula. @param {string | number | null | undefined} value */
function copied(value) {
  if (typeof value === "number") return String(value);
  const text = (value ?? "").replace(/^(?=[=+\-@\t\r])/, "'");
  return /["\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** @param {string} text */
function copy(text) {
  const put = (/** @type {ClipboardEvent} */ event) => { event.clipboardData?.setData("text/plain", text); event.preventDefault(); };
  // Unlike navigator.clipboard this works on a page of any origin.
  document.addEventListener("copy", put);
  document.execCommand("copy");
  document.removeEventListener("copy", put);
}

/** A table of rows 0 to `count` - 1. Its order, of the rows that pass its filters, is in `order`. */
class Table {
  /**
   * @param {HTMLElement} place
   * @param {{name: string, scope: string, count: number, columns: Column[], filters: Filter[], rowHeight?: number, open?: (row: number) => void,
   *   changed?: (isLink: boolean) => void}} options
   */
  constructor(place, options) {
    this.options = options;
    this.columns = options.columns;
    this.rowHeight = options.rowHeight ?? 30;
    this.place = place;
    /** @type {number[]} */
    this.passing = [];
    /** @type {number[]} */
    this.order = [];
    this.chosen = -1;
    /** The cell that the keyboard is at; the heading is line -1. */
    this.at = { line: -1, column: 0 };
    this.body = element("tbody");
    this.heads = this.columns.map((column, index) => element("th", { scope: "col", class: classOf(column) },
      element("button", { type: "button", tabindex: -1, title: column.meaning || column.title, onclick: () => this.sortBy(index) }, ...breakable(column.title))));
    const lengths = this.columns.map((column) => this.lengthOf(column));
    const widths = this.columns.map((column, index) => Math.max(column.width ?? 60, Math.min(240, 28 + (column.isNumber ? 8 : 7.6) * lengths[index])));
    const printed = this.columns.map((column, index) => (column.isPrinted === false ? 0 : Math.max(8, Math.min(PRINTED_CHARACTERS, lengths[index]))));
    const [width, characters] = [widths, printed].map((each) => each.reduce((sum, one) => sum + one, 0));
    this.grid = element("table", { role: "grid", tabindex: 0, "aria-label": options.name, "aria-activedescendant": `${place.id}-at`, style: `--characters: ${characters}; min-width: ${width}px` },
      element("colgroup", {}, ...widths.map((width, index) => element("col", { class: classOf(this.columns[index]), style: `--share: ${(100 * printed[index]) / characters}%;${index ? ` width: ${width}px` : ""}` }))),
      element("thead", {}, element("tr", { "aria-rowindex": 1 }, ...this.heads)), this.body);
    this.scroller = element("div", { class: "scroller" }, this.grid);
    const button = element("button", { type: "button", class: "action small", onclick: () => copy(this.tsv()) }, "Copy as TSV");
    place.append(this.scroller, button);
    this.scroller.addEventListener("scroll", () => this.draw());
    this.grid.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.key(event));
    this.body.addEventListener("click", (/** @type {MouseEvent} */ event) => {
      const cell = /** @type {HTMLElement} */ (event.target).closest("td");
      if (!cell?.dataset.line) return;
      this.at = { line: Number(cell.dataset.line), column: /** @type {HTMLTableCellElement} */ (cell).cellIndex };
      if (!(/** @type {HTMLElement} */ (event.target).closest("a"))) options.open?.(this.order[this.at.line]);
    });
    window.addEventListener("resize", () => this.draw());
    let scrolled = 0;
    window.addEventListener("beforeprint", () => { scrolled = this.scroller.scrollTop; this.draw(PRINTED_ROWS); });
    // On paper nothing is scrolled, so the browser forgets where it was.
    window.addEventListener("afterprint", () => { this.scroller.scrollTop = scrolled; this.draw(); });
    filterBy(byId(`${place.id.replace("table", "filters")}`), options.scope, options.filters, (passes, isLink) => this.filter(passes, isLink));
  }

  /** The characters of the longest part of the heading, and of the first rows. @param {Column} column */
  lengthOf(column) {
    const parts = column.title.split(/(?<=[._])| /).map((part) => `${part} `);
    const texts = Array.from({ length: Math.min(60, this.options.count) }, (_, row) => this.textOf(column, row));
    return Math.max(...[...parts, ...texts].map((text) => text.length));
  }

  /** @param {Column} column @param {number} row */
  textOf(column, row) {
    return column.text ? column.text(row) : String(column.value(row) ?? "–");
  }

  /** @param {(row: number) => boolean} passes @param {boolean} isLink */
  filter(passes, isLink) {
    this.passing = [];
    for (let row = 0; row < this.options.count; row++) if (passes(row)) this.passing.push(row);
    this.sort(isLink);
    return `${grouped(this.order.length)} of ${grouped(this.options.count)} row${this.options.count === 1 ? "" : "s"}`;
  }

  /** Sorts as the address says: by the key of a column, after a minus sign the largest first. @param {boolean} isLink */
  sort(isLink) {
    const said = stateOf(`${this.options.scope}sort`);
    const sign = said.startsWith("-") ? -1 : 1;
    const index = this.columns.findIndex((column) => keyOf(column) === said.replace(/^-/, ""));
    this.heads.forEach((head, place) => head.setAttribute("aria-sort", place !== index ? "none" : sign < 0 ? "descending" : "ascending"));
    this.order = [...this.passing];
    if (index >= 0) {
      const keys = Array.from({ length: this.options.count }, (_, row) => this.columns[index].value(row) ?? null);
      this.order.sort((a, b) => {
        const [first, second] = [keys[a], keys[b]];
        if (first === null || second === null) return Number(first === null) - Number(second === null);
        return first < second ? -sign : first > second ? sign : 0;
      });
    }
    this.scroller.scrollTop = 0;
    this.at.line = Math.min(this.at.line, this.order.length - 1);
    this.draw();
    this.options.changed?.(isLink);
  }

  /** @param {number} index */
  sortBy(index) {
    const key = keyOf(this.columns[index]);
    setState({ [`${this.options.scope}sort`]: stateOf(`${this.options.scope}sort`) === key ? `-${key}` : key }, true);
    this.sort(false);
  }

  /** Marks a row. @param {number} row @param {boolean} isSought whether to scroll to it */
  choose(row, isSought) {
    this.chosen = row;
    if (isSought) this.reveal(this.order.indexOf(row));
    else this.draw();
  }

  /** Scrolls to a line. @param {number} line */
  reveal(line) {
    const top = line * this.rowHeight, height = this.scroller.clientHeight - this.grid.tHead.offsetHeight;
    if (line >= 0 && top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top + this.rowHeight > this.scroller.scrollTop + height) this.scroller.scrollTop = top + this.rowHeight - height;
    this.draw();
  }

  /** Puts the rows that are in sight into the document, or the first ones. @param {number} [most] of the first ones */
  draw(most) {
    const count = this.order.length;
    const first = most ? 0 : Math.max(0, Math.floor(this.scroller.scrollTop / this.rowHeight) - MARGIN_ROWS);
    const last = Math.min(count, most ?? first + Math.ceil((this.scroller.clientHeight || 640) / this.rowHeight) + 2 * MARGIN_ROWS);
    const space = (/** @type {number} */ rows) => (rows ? [element("tr", { "aria-hidden": "true", style: `height: ${rows * this.rowHeight}px` })] : []);
    this.body.replaceChildren(...space(first), ...this.order.slice(first, last).map((row, index) => this.line(row, first + index)), ...space(count - last));
    const note = !count ? "Nothing passes the filters" : most && most < count ? `Only the first ${grouped(most)} are printed` : "";
    if (note) this.body.append(element("tr", {}, element("td", { colspan: this.columns.filter(({ isPrinted }) => isPrinted !== false).length }, note)));
    this.grid.setAttribute("aria-rowcount", count + 1);
    this.heads.forEach((head, index) => this.mark(head, -1, index));
  }

  /** @param {number} row @param {number} line */
  line(row, line) {
    const cells = this.columns.map((column, index) => {
      const cell = element("td", { class: classOf(column), "data-line": line }, column.cell ? column.cell(row) : this.textOf(column, row));
      for (const link of cell.querySelectorAll("a")) link.tabIndex = -1;
      this.mark(cell, line, index);
      return cell;
    });
    return element("tr", { "aria-rowindex": line + 2, "aria-selected": row === this.chosen ? "true" : null, style: `height: ${this.rowHeight}px` }, ...cells);
  }

  /** Names the cell that the keyboard is at. @param {HTMLElement} cell @param {number} line @param {number} column */
  mark(cell, line, column) {
    const isAt = line === this.at.line && column === this.at.column;
    cell.classList.toggle("at", isAt);
    if (isAt) cell.id = `${this.place.id}-at`;
    else cell.removeAttribute("id");
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const last = this.order.length - 1;
    const [lines, columns] = /** @type {Record<string, [number, number]>} */ ({
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-PAGE_ROWS, 0], PageDown: [PAGE_ROWS, 0],
      Home: [event.ctrlKey ? -last - 2 : 0, -this.columns.length], End: [event.ctrlKey ? last + 2 : 0, this.columns.length],
    })[event.key] ?? [0, 0];
    if (lines || columns) {
      this.at = { line: Math.min(last, Math.max(-1, this.at.line + lines)), column: Math.min(this.columns.length - 1, Math.max(0, this.at.column + columns)) };
      this.reveal(this.at.line);
      byId(`${this.place.id}-at`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else if (event.key === "Enter" || event.key === " ") {
      const at = byId(`${this.place.id}-at`);
      (at?.querySelector("a, button") ?? at)?.click();
    } else if (event.key === "Escape") byId(this.place.id.replace("table", "filters")).querySelector("input, select").focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** All rows that pass, in their order, for a spreadsheet. */
  tsv() {
    const lines = this.order.map((row) => this.columns.map((column) => copied(column.isNumber ? column.value(row) : this.textOf(column, row))));
    return [this.columns.map((column) => copied(column.title)), ...lines].map((cells) => cells.join("\t")).join("\n");
  }
}
