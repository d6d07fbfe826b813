/* The libraries that stand before the script in a page, each under its global name. */
declare const d3: any;
declare const Plot: any;
declare const Tabulator: any;
