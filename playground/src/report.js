/** The report: the tables of the macros about each clustering, and their SQL. */

import { TABLES, chooseMethod } from "./calls.js";
import { element } from "./dom.js";
import { MOST_ROWS, countRows, drawResult } from "./results.js";
import { asRecords, showValue } from "./values.js";

const SAMPLED =
  "All silhouettes would take long in a browser: these are those of a sample. On the command " +
  "line, clustereval report takes more points.";

/** Show a report on each clustering; each table appears as soon as it is computed. */
export async function showReport(session, input, choice, place, say) {
  say("Reading the rows …");
  await session.query(input.create(choice));
  const queries = [input.written(choice)];
  for (const cluster of choice.clusters) {
    const own = { ...choice, cluster };
    place.append(element("h3", {}, `Clustering ${cluster} of ${input.name}`));
    for (const [title, macro, write] of TABLES) {
      const sql = write(macro, own);
      if (sql === null) continue;
      say(`${cluster}: ${title} …`);
      const result = withoutPartition(await session.query(sql), own);
      queries.push(`${sql};`);
      place.append(element("h4", {}, title), ...drawTable(macro, result, own));
      if (macro === "internal_summary") own.method = chooseMethod(own, asRecords(result));
    }
  }
  const { rows } = await session.query("SELECT clustereval.version(), version()");
  place.append(...drawQueries(queries, rows[0]));
}

/** Return a result without partition_key, its first column, if all rows are in one partition. */
function withoutPartition({ columns, rows }, { partition }) {
  if (partition !== null) return { columns, rows };
  return { columns: columns.slice(1), rows: rows.map((row) => row.slice(1)) };
}

function drawTable(macro, result, { partition, method }) {
  if (macro.endsWith("_findings")) return [drawFindings(asRecords(result), partition)];
  const isSample = macro === "silhouette_score" && "method" in method;
  return [drawResult(result), ...(isSample ? [element("p", {}, SAMPLED)] : [])];
}

/** Return findings as sentences, the worst first. */
function drawFindings(findings, partition) {
  if (findings.length === 0) return element("p", {}, "There are no findings.");
  const items = findings.slice(0, MOST_ROWS).map(({ partition_key: key, severity, finding }) => {
    const where = partition === null ? "" : `${partition} ${showValue(key)}: `;
    const mark = element("b", { class: `ce-${severity}` }, severity);
    return element("li", {}, mark, ` ${where}${finding}`);
  });
  const note = findings.length > MOST_ROWS ? countRows(findings.length) : "";
  return element("div", { class: "ce-result" }, element("ul", {}, items), note);
}

function drawQueries(queries, [version, engine]) {
  const [read, write] = [".read clustereval.sql", "clustereval sql"].map((text) =>
    element("code", {}, text),
  );
  const versions = `polars_clustereval ${version}; DuckDB ${engine}, in a browser`;
  return [
    element("h3", {}, "SQL"),
    element("p", {}, "The same tables in DuckDB, after ", read, ", which ", write, " writes:"),
    element("pre", {}, queries.join("\n\n")),
    element("p", { class: "ce-note" }, versions),
  ];
}

/** Return a link that saves what a report shows as a page that needs no other files. */
export function drawSaveLink(report, name) {
  const page = document.implementation.createHTMLDocument(`Clusterings of ${name}`);
  page.head.append(element("meta", { charset: "utf-8" }), element("style", {}, STYLE));
  page.body.append(report.cloneNode(true));
  const text = `<!DOCTYPE html>\n${page.documentElement.outerHTML}\n`;
  const href = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  const download = `report_${name.replace(/\.\w+$/, "").replace(/\W+/g, "_")}.html`;
  return element("p", {}, element("a", { href, download, class: "ce-button" }, "Save the report"));
}

const STYLE =
  "body { font-family: sans-serif; margin: 2rem } pre { white-space: pre-wrap } " +
  "td, th { padding: 0.2rem 0.6rem; text-align: left } .ce-number { text-align: right }";
