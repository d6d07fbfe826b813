// @ts-check
/* What a report and a comparison have: the table of the slices, the table of the samples, and a viewer that steps through them. */
"use strict";

const MIN_SAMPLES = 20;
const VERDICTS = ["worse", "better", "no difference shown"];
const SIGNS = /** @type {Record<string, string>} */ ({ better: "▲ better", worse: "▼ worse" });

/** @param {ReportDocument} doc */
function fillSlices(doc) {
  const { slices, systems } = doc;
  const compared = doc.kind === "comparison";
  const many = systems.length > 1 && !compared;
  const { metrics } = doc;
  const used = leadFirst(doc, [...metrics.keys()].filter((index) => slices.some((slice) => slice.values[index].value !== null)));
  const most = Math.max(...slices.map((slice) => slice.samples ?? 0));
  // A slice of few samples says little; where there are no others, all are shown.
  const least = most < MIN_SAMPLES ? null : MIN_SAMPLES;
  new Table(byId("slices-table"), {
    name: "Slices", scope: "slices.", count: slices.length, rowHeight: 46,
    columns: [
      { title: "slice", value: (row) => slices[row].label, width: 170, cell: (row) => sliceLink(doc, slices[row], many) },
      ...(many ? [systemColumn(doc, (row) => slices[row].system)] : []),
      { title: "samples", isNumber: true, value: (row) => slices[row].samples, text: (row) => (slices[row].samples === null ? "–" : grouped(slices[row].samples)) },
      ...used.flatMap((index) => [...(compared ? [] : [valueColumn(doc, index)]), ...differenceColumns(doc, metrics[index], index)]),
    ],
    filters: [
      contains("label", "Slice contains", (row) => slices[row].label),
      ...(many ? [oneOf("system", "System", systems, (row, text) => systems[slices[row].system] === text)] : []),
      ...(slices.some((slice) => slice.differences.length) ? [oneOf("verdict", "Verdict", VERDICTS, (row, text) => slices[row].differences.some(({ verdict }) => verdict === text))] : []),
      bounded("Minimum samples", { name: "samples", min: 0, value: least }, (row, bound) => (slices[row].samples ?? bound) >= bound),
    ],
  });
}

/** A link to the samples of a slice, where the page can find them; it keeps the filters and the order of the slices. @param {ReportDocument} doc @param {Slice} slice @param {boolean} many */
function sliceLink(doc, slice, many) {
  const columns = Object.keys(doc.samples?.slices ?? {}), names = Object.keys(slice.where);
  if (!names.length || !names.every((name) => columns.includes(name))) return element("bdi", { title: slice.label }, slice.label);
  const filters = [...[...state].filter(([name]) => name.startsWith("slices.")), ...names.map((name) => [`slice.${name}`, slice.where[name]]), ...(many ? [["system", doc.systems[slice.system]]] : [])];
  return element("a", { title: slice.label, href: `#samples?${new URLSearchParams(filters)}` }, element("bdi", {}, slice.label));
}

/** A value, with its interval as a bar below on a range that its column shares, and the value of all samples as a thin line across. @param {ReportDocument} doc @param {number} index @returns {Column} */
function valueColumn(doc, index) {
  const metric = doc.metrics[index];
  const bounds = { value: null, low: metric.low ?? 0, high: metric.high ?? 1 };
  const range = extentOf([bounds, ...metric.values, ...doc.slices.map(({ values }) => values[index])]);
  return {
    title: metric.name, meaning: metric.meaning, isNumber: true, width: 118, value: (row) => doc.slices[row].values[index].value, text: (row) => shown(doc.slices[row].values[index].value),
    cell: (row) => {
      const { values, system } = doc.slices[row];
      const { value, low, high } = values[index];
      if (value === null) return document.createTextNode("–");
      const interval = low === null ? "" : ` (${shown(low)} to ${shown(high)})`;
      return element("span", { title: `${shown(value)}${interval}` }, shown(value), element("span", { class: "hidden" }, interval),
        whisker(values[index], range, metric.values[system]?.value ?? null, color(system)));
    },
  };
}

/** The difference of a metric from the baseline, on a range that its column shares; nothing where there is none. @param {ReportDocument} doc @param {{name: string, meaning: string}} metric @param {number} index @returns {Column[]} */
function differenceColumns(doc, metric, index) {
  const column = doc.slices.flatMap(({ differences }) => differences.slice(index, index + 1));
  if (!column.some(({ value }) => value !== null)) return [];
  const reach = Math.max(1e-9, ...extentOf(column).map(Math.abs));
  const compared = doc.kind === "comparison";
  return [{
    title: compared ? metric.name : `${metric.name} − baseline`,
    meaning: compared ? metric.meaning : `the difference of ${metric.name} from the baseline, with its paired interval`,
    isNumber: true, width: 150, value: (row) => doc.slices[row].differences[index]?.value, text: (row) => signed(doc.slices[row].differences[index]?.value),
    cell: (row) => {
      const { differences, values } = doc.slices[row];
      const difference = differences[index];
      if (!difference || difference.value === null) return document.createTextNode("–");
      const interval = difference.low === null ? "" : ` (${signed(difference.low)} to ${signed(difference.high)})`;
      const said = SIGNS[difference.verdict];
      const ink = difference.verdict === "better" ? "var(--good)" : difference.verdict === "worse" ? "var(--bad)" : "var(--soft)";
      return element("span", { title: `${signed(difference.value)}${interval}: ${difference.verdict}\n${shown(Number(values[index].value) - difference.value)} → ${shown(values[index].value)}` },
        ...(said ? [element("b", { class: difference.verdict }, said), " "] : []), signed(difference.value), element("span", { class: "hidden" }, interval), whisker(difference, [-reach, reach], 0, ink));
    },
  }];
}

/** A bar from `low` to `high` of a range, with a dot at the value; `line` is a thin line across. @param {Measured} measured @param {[number, number]} range @param {number | null} line @param {string} ink */
function whisker({ value, low, high }, [from, to], line, ink) {
  const places = Object.entries({ from: low, to: high, at: value, "line-at": line }).filter(([, place]) => place !== null);
  const style = places.map(([name, place]) => `--${name}:${((Number(place) - from) / (to - from || 1)).toFixed(4)};`).join("");
  return element("i", { class: "whisker", style: `${style}--ink:${ink}` });
}

/** Why samples of a run can be looked at, in words. */
const WHY = /** @type {Record<string, string>} */ ({
  lost: "lost since the baseline", won: "won since the baseline", flip: "systems differ", slice: "worst of its slice",
});

/** The sign of a change that is a reason. @type {Record<string, number>} */
const MOVED = { lost: -1, won: 1 };

/** How the samples of a comparison change. */
const CHANGES = [...Object.keys(MOVED).map((why) => ["why", why]), ["status", "appeared"], ["status", "vanished"]];

/** @param {string} why */
const reason = (why) => WHY[why] ?? words(why);

/** @param {ReportDocument} doc @param {(row: number) => number} of @returns {Column} */
const systemColumn = (doc, of) => ({
  title: "system", width: 110, value: (row) => doc.systems[of(row)], cell: (row) => systemLabel(doc.systems, of(row)),
});

/** A filter by the value of a column, or by a member of a list that it holds. @param {string} name @param {(string | string[])[]} values @returns {Filter} */
const byMember = (name, values) => oneOf(`slice.${name}`, name, [...new Set(values.flat())], (row, text) => values[row] === text || (Array.isArray(values[row]) && values[row].includes(text)));

/** @param {string | string[]} value */
const joined = (value) => (Array.isArray(value) ? value.join(", ") : value);

/** A filter by a cell of a confusion matrix. @param {Record<string, number[]>} cells @returns {Filter} */
const byCell = (cells) => ({
  ...oneOf("cell", "Cell", Object.keys(cells).sort(), () => true),
  test: (value) => { const counted = new Set(cells[value]); return (row) => counted.has(row); },
});

/** @param {ReportDocument} doc */
function fillSamples(doc) {
  const samples = /** @type {Samples} */ (doc.samples);
  const { ids, statuses, metrics } = samples;
  const compared = doc.kind === "comparison";
  const many = doc.systems.length > 1 && !compared;
  const cards = new Map(doc.cards.map((card) => [card.row, card]));
  const used = doc.sample_metrics.filter(({ name }) => metrics[name].some((value) => value !== null));
  const first = (/** @type {Metric} */ metric) => (metric.is_change ? 0 : metric.main ? 1 : 2);
  const ordered = used.toSorted((a, b) => first(a) - first(b));
  const writers = new Map(used.map((metric) => [metric.name, metric.is_change ? signed : shownLike(metrics[metric.name])]));
  const write = (/** @type {Metric} */ { name }, /** @type {number} */ row) => /** @type {any} */ (writers.get(name))(metrics[name][row]);
  const changes = metrics[used.find((metric) => metric.is_change)?.name ?? ""] ?? [];
  /** Whether there is a reason to look at a sample: a change is one also where the page does not have its records. @param {number} row @param {string} why */
  const has = (row, why) => (why in MOVED && MOVED[why] * (changes[row] ?? 0) > 0) || cards.get(row)?.whys.includes(why) === true;
  const whys = [...new Set([...Object.keys(MOVED), ...doc.cards.flatMap((card) => card.whys)])].filter((why) => (!compared || why in WHY) && ids.some((_, row) => has(row, why)));
  const main = used.find((metric) => metric.main)?.name ?? "";
  const value = (/** @type {number} */ row) => metrics[byId("samples-filters").elements.metric.value || main]?.[row] ?? NaN;
  const table = new Table(byId("samples-table"), {
    name: compared ? "Samples that changed" : "Samples", scope: "", count: ids.length, open: (row) => show(row, true),
    changed: (isLink) => followTable(isLink),
    columns: [
      { title: "sample_id", width: 150, value: (row) => ids[row], cell: (row) => element("span", { class: "open", title: ids[row] }, ids[row]) },
      ...(many ? [systemColumn(doc, (row) => samples.systems[row])] : []),
      ...ordered.map((metric) => ({ title: metric.name, meaning: metric.meaning, isNumber: true, value: (/** @type {number} */ row) => metrics[metric.name][row], text: (/** @type {number} */ row) => write(metric, row) })),
      { title: compared ? "kind" : "status", value: (row) => words(statuses[row]) },
      ...Object.entries(samples.slices).map(([title, values]) => ({ title, key: `slice.${title}`, value: (/** @type {number} */ row) => joined(values[row]) })),
      ...(compared ? [] : [{ title: "records", isPrinted: false, value: (/** @type {number} */ row) => (cards.get(row)?.whys ?? []).map(reason).join(", ") }]),
    ],
    filters: [
      contains("id", "sample_id contains", (row) => ids[row]),
      ...(whys.length ? [oneOf("why", "Show", ["any", ...whys], (row, text) => (text === "any" ? cards.has(row) : has(row, text)), (text) => (text === "any" ? "with records" : reason(text)))] : []),
      oneOf("status", compared ? "Change" : "Status", [...new Set(statuses)], (row, text) => statuses[row] === text, words),
      ...(many ? [oneOf("system", "System", doc.systems, (row, text) => doc.systems[samples.systems[row]] === text)] : []),
      ...Object.entries(samples.slices).map(([name, values]) => byMember(name, values)),
      ...(Object.keys(samples.cells).length ? [byCell(samples.cells)] : []),
      oneOf("metric", "Metric", used.map(({ name }) => name), (row) => !Number.isNaN(value(row))),
      bounded("from", { name: "from", "aria-label": "lowest value of the metric" }, (row, bound) => value(row) >= bound),
      bounded("to", { name: "to", "aria-label": "highest value of the metric" }, (row, bound) => value(row) <= bound),
    ],
  });
  const viewer = byId("viewer");
  let current = -1;

  /** @param {number} row @param {boolean} isStep whether a step back of the browser goes back from it */
  function show(row, isStep) {
    if (row < 0 || row === undefined) return;
    current = row;
    setState({ sample: ids[row], of: many ? doc.systems[samples.systems[row]] : "" }, isStep);
    draw(true);
    if (isStep && window.innerWidth <= 960) viewer.scrollIntoView({ block: "start" });
  }

  /** @param {boolean} isSought */
  function draw(isSought) {
    table.choose(current, isSought);
    const hasFocus = viewer.contains(document.activeElement);
    viewer.replaceChildren(stepper(), ...(current < 0 ? [] : sampleView(doc, samples, current, cards, used.map((metric) => ({ metric, text: write(metric, current) })))));
    // What had it is gone.
    if (hasFocus) viewer.focus({ preventScroll: true });
  }

  /** Shows the sample that the address names; of a link that names none, the one that it filters by, or the first that passes and has its records. @param {boolean} isLink */
  function followTable(isLink) {
    const isNamed = (/** @type {number} */ row) => ids[row] === stateOf("sample") && (!many || doc.systems[samples.systems[row]] === stateOf("of"));
    // Long ids may be shown alike: the open one stays open.
    const named = isNamed(current) ? current : ids.findIndex((_, row) => isNamed(row));
    if (named >= 0) current = named;
    else if (isLink || current < 0) current = table.order.find((row) => ids[row] === stateOf("id")) ?? table.order.find((row) => cards.has(row)) ?? table.order[0] ?? current;
    draw(isLink);
    fillMore();
  }

  /** Says of which samples that pass the filters the page has only some, or may have, and how to list them all. */
  function fillMore() {
    const form = byId("samples-filters"), { why, status, system } = form.elements;
    /** @param {string} told @param {string} command @param {string} where @returns {HTMLElement[]} */
    const line = (told, command, where) => [element("p", { class: "caption" }, told,
      ...(command ? [". This lists all: ", element("code", {}, command), " ", copyButton("Copy", command)] : [`; ${where}.`]))];
    const rowsOf = (/** @type {string} */ name, /** @type {string} */ wanted) => [...ids.keys()].filter((row) => (name === "why" ? has(row, wanted) : statuses[row] === wanted));
    const isPart = samples.total > ids.length || (compared && CHANGES.some(([name, wanted]) => (doc.more[`${name}=${wanted}`]?.total ?? 0) > rowsOf(name, wanted).length));
    const asked = [why, status].filter((input) => input && doc.more[`${input.name}=${input.value}`]);
    const lines = asked.flatMap(({ name, value: wanted }) => {
      const one = system?.value;
      const { command, total } = doc.more[`${name}=${wanted}${one ? `&system=${one}` : ""}`] ?? { command: "", total: 0 };
      const shown = rowsOf(name, wanted).filter((row) => !one || doc.systems[samples.systems[row]] === one);
      const told = isPart ? "and more may have moved" : `${grouped(shown.filter((row) => cards.has(row)).length)} with their records`;
      if (total === null) return line(`${grouped(shown.length)} shown, ${told}`, command, "choose a system for the command that lists all");
      if (total <= shown.length) return [];
      return line(`${grouped(shown.length)} of ${grouped(total)} shown`, command, `all are in ${["rejected", "duplicate"].includes(wanted) ? "quarantine/" : "samples/*.parquet"}`);
    });
    const others = [...form.querySelectorAll("input, select")].filter((input) => input.value && input !== why && input !== status);
    if (isPart && others.length && !asked.length) lines.push(...line(`The page holds only ${grouped(ids.length)} rows, and more may pass`, compared ? doc.more["why=lost"].command : "", "all are in samples/*.parquet"));
    byId("samples-more").replaceChildren(...lines);
  }

  /** @param {number} by */
  function step(by) {
    const at = table.order.indexOf(current);
    show(table.order[Math.min(table.order.length - 1, Math.max(0, at + by))] ?? -1, false);
  }

  function stepper() {
    const at = table.order.indexOf(current), last = table.order.length - 1;
    const button = (/** @type {string} */ text, /** @type {number} */ by, /** @type {boolean} */ disabled) =>
      element("button", { type: "button", class: "action", disabled, onclick: () => step(by) }, text);
    const place = at < 0 ? "not among the rows shown" : `${grouped(at + 1)} of ${grouped(last + 1)}`;
    return element("div", { class: "stepper" }, button("← Previous", -1, at <= 0), button("Next →", 1, at >= last), element("span", { class: "count", role: "status" }, place));
  }

  document.addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.key === "Escape" && viewer.contains(target)) table.grid.focus();
    const by = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowRight: 1 })[event.key];
    if (!by || event.altKey || event.ctrlKey || event.metaKey || target.closest("input, select, textarea, pre, .scroll")) return;
    event.preventDefault();
    step(by);
  });
}

/** @param {string} text */
const tag = (text) => element("li", { class: "tag" }, element("bdi", {}, text));

/** An id that is shown as it is: not cut, and without codes of characters; see text.py. @param {string} id */
const isWhole = (id) => !/<U\+|… \([\d,]+ more characters\)$/.test(id);

/** @param {ReportDocument} doc @param {Samples} samples @param {number} row @param {Map<number, Card>} cards @param {{metric: Metric, text: string}[]} values @returns {Node[]} */
function sampleView(doc, samples, row, cards, values) {
  const id = samples.ids[row], status = samples.statuses[row], card = cards.get(row);
  const slices = Object.entries(samples.slices).map(([name, values]) => `${name}: ${joined(values[row])}`);
  const head = [
    element("h3", {}, element("bdi", {}, id), ...(isWhole(id) ? [" ", copyButton("Copy id", id)] : [])),
    element("ul", { class: "chips" },
      ...(doc.systems.length > 1 && doc.kind === "evaluation" ? [element("li", {}, systemLabel(doc.systems, samples.systems[row]))] : []),
      tag(words(status)), ...(card?.whys ?? []).filter((why) => why !== status).map((why) => tag(reason(why))), ...slices.map(tag)),
    element("ul", { class: "chips" },
      ...values.filter(({ text }) => text !== "–").map(({ metric, text }) => element("li", { title: metric.meaning }, `${metric.name} `, element("b", {}, text)))),
  ];
  if (!card) {
    if (status === "rejected") return [...head, element("p", { class: "caption" }, "Its records were rejected, so there is nothing to draw: quarantine/ has them, with the reason.")];
    const why = status === "missing_prediction" ? "There is no prediction to look at." : "Its records are not in this page.";
    if (!doc.draw.length || !isWhole(id)) return [...head, element("p", { class: "caption" }, why)];
    const command = `${doc.draw[samples.systems[row]]} --sample='${id.replaceAll("'", "'\\''")}' --output sample.svg`;
    return [...head, element("p", { class: "caption" }, `${why} This draws it: `, element("code", {}, command), " ", copyButton("Copy", command))];
  }
  // Systems of a run stand side by side where each has its records, as the sides of a comparison do.
  const ofSample = doc.kind === "comparison" ? [card] : [card, ...[...cards.values()].filter((each) => each !== card && samples.ids[each.row] === id)];
  const sides = ofSample.flatMap((each) => each.sides.map((side, number) => ({ side, name: doc.systems[each.system + number] })));
  const picture = ofSample.map((each) => each.picture).find(Boolean) ?? "";
  const many = sides.length > 1;
  const records = [{ title: "Ground truth", record: card.truth }, ...sides.map(({ side, name }) => ({ title: many ? `Prediction of ${name}` : "Prediction", record: side.prediction }))];
  // Two predictions are told apart from each other, a single one from its ground truth.
  const other = (/** @type {number} */ place) => (many ? (place ? records[place === 1 ? 2 : 1].record : null) : records[1 - place].record);
  return [
    ...head,
    ...listView("What changed", card.words),
    ...(card.picture_problem ? [element("p", { class: "caption" }, `No real picture: ${card.picture_problem}`)] : []),
    element("div", { class: many ? "records" : "" }, ...sides.map(({ side, name }) => element("div", {},
      ...(many ? [element("h4", {}, name, " ", element("span", { class: "tag" }, words(side.status)))] : []), ...drawingView(side, picture), ...listView("What matched what", side.words)))),
    ...(card.truth === null ? [] : [element("div", { class: "records" }, ...records.map(({ title, record }, number) => recordView(title, record, other(number) ?? "")))]),
  ];
}

/** @param {string} name @param {string} text */
const copyButton = (name, text) => element("button", { type: "button", class: "action small", onclick: () => copy(text) }, name);

/** The size of text in a drawing, and how small it may become; the place of the real picture: see metrics/common/svg.py. */
const [TEXT_SIZE, MIN_TEXT_SIZE, PICTURE] = [12, 11, "cid:picture"];

/** @param {CardSide} side @param {string} picture the real one as a data URI, for its place in the drawing */
function drawingView({ drawing, problem, words: said }, picture) {
  const svg = drawing?.includes(PICTURE) ? drawing.replace(PICTURE, () => picture) : drawing;
  const note = problem ? [element("p", { class: "caption" }, `No drawing: ${problem}`)] : [];
  // A drawing without a place for the picture, or none, has it above.
  const pictures = picture && svg === drawing ? [imageView(picture, "the real picture of this sample")] : [];
  if (svg === null) return [...pictures, ...note];
  const image = imageView(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`, said.join(" ") || "ground truth and prediction of this sample, drawn");
  // Where it does not fit, it is scrolled rather than made so small that nobody can read it. Its frame is 1 px wide.
  image.addEventListener("load", () => { image.style.minWidth = `${(image.naturalWidth * MIN_TEXT_SIZE) / TEXT_SIZE + 2}px`; });
  return [...pictures, element("div", { class: "frame scroll", tabindex: 0, role: "group", "aria-label": "Drawing" }, image)];
}

/** @param {string} src @param {string} alt */
const imageView = (src, alt) => element("img", { class: "drawing", src, alt });

/** @param {string} title @param {string[]} lines */
const listView = (title, lines) =>
  lines.length ? [element("h4", {}, title), element("ul", { class: "words" }, ...lines.map((line) => element("li", {}, line)))] : [];

/** What of a line another text does not have: from the first character that differs to the last. @param {string} line @param {string[]} others @returns {(Node | string)[]} */
function markedLine(line, others) {
  const name = line.slice(0, line.indexOf(":") + 1);
  const twin = (name && others.find((other) => other.startsWith(name))) || "";
  const most = Math.min(line.length, twin.length);
  let [first, last] = [0, 0];
  while (first < most && line[first] === twin[first]) first += 1;
  while (last < most - first && line.at(-1 - last) === twin.at(-1 - last)) last += 1;
  return [line.slice(0, first), element("mark", {}, line.slice(first, line.length - last)), line.slice(line.length - last)];
}

/** A record; where it shares any line with another one, what differs is marked, and the first of it is in sight. @param {string} title @param {string | null} record @param {string} other */
function recordView(title, record, other) {
  if (record === null) return element("div", {}, element("h4", {}, title), element("p", { class: "caption" }, "There is no record that could be read."));
  const nameOf = (/** @type {string} */ line) => line.split(":")[0];
  const lines = record.split("\n"), others = other.split("\n"), known = new Set(others), names = new Set(others.map(nameOf));
  const isAlike = other !== "" && lines.some((line) => names.has(nameOf(line)));
  const text = element("pre", { tabindex: 0, dir: "auto" }, ...lines.flatMap((line, number) => [number ? "\n" : "", ...(!isAlike || known.has(line) ? [line] : markedLine(line, others))]));
  requestAnimationFrame(() => { text.scrollTop = Math.max(0, (text.querySelector("mark")?.offsetTop ?? 0) - text.offsetTop - 40); });
  return element("div", {}, element("h4", {}, title), text);
}

start(([doc]) => {
  if (byId("slices-table")) fillSlices(doc);
  if (byId("samples-table")) fillSamples(doc);
});
