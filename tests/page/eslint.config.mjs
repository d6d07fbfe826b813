import js from "@eslint/js";

export default [
  js.configs.recommended,
  {
    languageOptions: {
      sourceType: "script",
      ecmaVersion: 2024,
    },
    rules: {
      // The scripts of a page share one scope; tsc knows every name, and which is not used.
      "no-undef": "off",
      "no-unused-vars": ["error", { vars: "local" }],
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
