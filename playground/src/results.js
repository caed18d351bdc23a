/** Results: the tables that a query returns, as HTML. */

import { element } from "./dom.js";
import { showValue } from "./values.js";

/** Of more rows, the first ones are shown. */
export const MOST_ROWS = 100;
/** A single row with more columns than this is shown as a column. */
const MOST_COLUMNS = 6;

/** Return the tables of results, each with the number of its rows. */
export function drawResults(results) {
  if (results.length === 0) return [element("p", { class: "ce-note" }, "Done: no rows to show.")];
  return results.map(drawResult);
}

export function drawResult({ columns, rows }) {
  const isLong = rows.length === 1 && columns.length > MOST_COLUMNS;
  const table = isLong ? drawRow(columns, rows[0]) : drawRows(columns, rows);
  return element("div", { class: "ce-result" }, scrollable(table), countRows(rows.length));
}

/** Return a box that scrolls a wide table, with the keyboard too. */
function scrollable(table) {
  const label = { role: "region", "aria-label": "Rows of the result", tabindex: "0" };
  return element("div", { class: "ce-scroll", ...label }, table);
}

export function countRows(n) {
  const count = `${n.toLocaleString("en-US")} ${n === 1 ? "row" : "rows"}`;
  const text = n > MOST_ROWS ? `The first ${MOST_ROWS} of ${count}` : count;
  return element("p", { class: "ce-note" }, text);
}

/** Return a table that a click on the name of a column sorts, the first click from the lowest. */
function drawRows(columns, rows) {
  const body = element("tbody");
  const fill = (sorted) => {
    const lines = sorted.slice(0, MOST_ROWS).map((row) =>
      element("tr", {}, row.map((value, i) => drawCell(value, columns[i].isNumber))),
    );
    body.replaceChildren(...lines);
  };
  const signs = columns.map(() => -1);
  const head = columns.map(({ name, isNumber }, i) => {
    const sort = () => fill(sortRows(rows, i, (signs[i] *= -1)));
    const button = element("button", { type: "button", class: "ce-sort", onclick: sort }, name);
    return element("th", { scope: "col", ...alignment(isNumber) }, button);
  });
  fill(rows);
  const top = element("thead", {}, element("tr", {}, head));
  return element("table", { class: "ce-table" }, top, body);
}

/** Sort rows by a column, NULLs last. */
function sortRows(rows, i, sign) {
  return [...rows].sort(({ [i]: one }, { [i]: other }) => {
    if (one === null || other === null) return (one === null) - (other === null);
    return sign * ((one > other) - (one < other));
  });
}

/** Return a row as a table with a line for each of its columns. */
function drawRow(columns, row) {
  const lines = columns.map(({ name, isNumber }, i) =>
    element("tr", {}, element("th", { scope: "row" }, name), drawCell(row[i], isNumber)),
  );
  return element("table", { class: "ce-table ce-row" }, element("tbody", {}, lines));
}

function drawCell(value, isNumber) {
  const isNull = value === null ? { class: "ce-null" } : {};
  const whole = typeof value === "number" ? { title: String(value) } : {};
  return element("td", { ...alignment(isNumber), ...isNull, ...whole }, showValue(value));
}

function alignment(isNumber) {
  return isNumber ? { class: "ce-number" } : {};
}
