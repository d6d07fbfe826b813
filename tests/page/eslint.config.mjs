import js from "@eslint/js";

const browser = ["document", "window", "atob", "Blob", "DecompressionStream", "Response", "performance", "setTimeout", "HTMLElement", "Event", "Node"];
const libraries = ["d3", "Plot", "Tabulator"];

export default [
  js.configs.recommended,
  {
    languageOptions: {
      sourceType: "script",
      ecmaVersion: 2022,
      globals: Object.fromEntries([...browser, ...libraries].map((name) => [name, "readonly"])),
    },
    rules: {
      eqeqeq: "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "text of the data is never HTML" },
        { property: "outerHTML", message: "text of the data is never HTML" },
        { property: "insertAdjacentHTML", message: "text of the data is never HTML" },
      ],
      "no-var": "error",
      "prefer-const": "error",
    },
  },
];
