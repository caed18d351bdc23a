/** The page: the document of a report, as polars_clustereval/page/html.py writes it. */

import { element } from "../dom.js";
import { showNumber } from "./numbers.js";

/** Return the document, the template of the command line filled with elements. */
export function fillTemplate(template, content, version) {
  const page = new DOMParser().parseFromString(template.replace(/\$\w+/g, ""), "text/html");
  const find = (selector) => page.querySelector(selector);
  page.title = content.title;
  find("meta[name=generator]").setAttribute("content", `polars_clustereval ${version}`);
  find("h1").append(content.title);
  find(".facts").append(...drawFacts(content.facts));
  if (content.warnings.length > 0) find("header").append(drawWarnings(content.warnings));
  find("main").append(...drawMain(content));
  find("footer p").append(...drawVersions(content.versions));
  return page;
}

function drawFacts(facts) {
  return facts.flatMap(([name, value]) => [
    element("span", {}, `${name} `, element("b", {}, value)),
    " ",
  ]);
}

function drawWarnings(warnings) {
  return element("ul", { class: "warnings" }, warnings.map((text) => element("li", {}, text)));
}

function drawVersions(versions) {
  return versions.flatMap(([name, value], i) => [
    ...(i > 0 ? [element("br")] : []),
    `${name}: ${value}`,
  ]);
}

function drawMain(content) {
  return [
    ...drawAnswers(content),
    element("h2", { id: "scores" }, "Scores"),
    ...drawCards(content.headlines),
    ...content.clusters.flatMap((table, i) => [
      element("h2", i === 0 ? { id: "clusters" } : {}, table.title),
      ...drawClusters(table),
    ]),
    ...drawLowPoints(content.lowPoints),
    element("h2", {}, "All scores"),
    ...[...content.groups].map(([title, scores]) => drawGroup(title, scores)),
    ...drawQueries(content.queries),
  ];
}

// Sentences -------------------------------------------------------------------------------------

function drawAnswers({ answers, steps, descriptions }) {
  const described = descriptions.flatMap(([cluster, words]) => [
    element("dt", {}, `Cluster ${cluster}`),
    element("dd", {}, words),
  ]);
  return [
    ...drawList("Findings", "ul", answers.map(drawAnswer)),
    ...drawList("What to try next", "ul", steps.map((step) => element("li", {}, step))),
    ...drawList("What distinguishes each cluster", "dl", described),
  ];
}

function drawList(title, tag, items) {
  if (items.length === 0) return [];
  return [element("h2", {}, title), element(tag, { class: "answers" }, items)];
}

function drawAnswer({ severity, text, place }) {
  const mark = element("span", { class: "unseen" }, `${severity}: `);
  return element("li", { class: severity }, mark, element("a", { href: `#${place}` }, text));
}

// Scores ----------------------------------------------------------------------------------------

function drawCards(scores) {
  return [
    element("div", { class: "cards" }, scores.map(drawCard)),
    element(
      "details",
      {},
      element("summary", {}, "What these are"),
      element("dl", {}, scores.flatMap(drawDefinition)),
    ),
  ];
}

function drawCard(score) {
  const { title, name, value, text, range, limits, reading } = score;
  const lines = [text, range, limits, reading].filter((line) => line !== "");
  return element(
    "div",
    { class: "card" },
    element("div", { class: "name" }, title, element("br"), element("code", {}, name)),
    element("div", { class: "value" }, showNumber(value)),
    lines.map((line) => element("div", { class: "more" }, line)),
  );
}

function drawDefinition({ title, definition, cases, source }) {
  if (definition === undefined) return [];
  const cite = element("cite", {}, source);
  return [
    element("dt", {}, title),
    element("dd", {}, definition, element("br"), cases, element("br"), cite),
  ];
}

function drawGroup(title, scores) {
  const rows = scores.map(({ name, value, limits, best, text }) =>
    element(
      "tr",
      {},
      element("td", {}, name),
      element("td", { class: "number" }, showNumber(value)),
      [limits, best, text].map((cell) => element("td", {}, cell)),
    ),
  );
  const summary = element("summary", {}, `${title} (${scores.length})`);
  return element("details", {}, summary, scroll(element("table", {}, element("tbody", {}, rows))));
}

// Clusters --------------------------------------------------------------------------------------

function drawClusters({ columns, rows, note, meanings, nameColumns }) {
  const head = columns.map(({ name, isNumber }) => {
    const number = isNumber ? { class: "number" } : {};
    const button = element("button", {}, name.replaceAll("_", " "));
    return element("th", { ...number, title: meanings[name] }, button);
  });
  const body = rows.map((row) =>
    element("tr", {}, columns.map((column) => drawCell(row[column.name], column, nameColumns))),
  );
  const thead = element("thead", {}, element("tr", {}, head));
  const table = element("table", { class: "sortable" }, thead, element("tbody", {}, body));
  return [scroll(table), note === "" ? null : element("p", {}, note)].filter((part) => part);
}

function drawCell(value, { name, isNumber, isInteger }, nameColumns) {
  if (!isNumber) return element("td", {}, value === null ? "" : showName(value));
  const isName = nameColumns.includes(name);
  const shown = isName && value !== null ? String(value) : showNumber(value, isInteger);
  const key = value === null ? "" : String(value);
  return element("td", { class: "number", "data-value": key }, shown);
}

function showName(value) {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function drawLowPoints(points) {
  if (points === null || points.length === 0) return [];
  const names = ["id", "cluster", "neighbor", "silhouette"];
  const head = names.map((name) => element("th", {}, name));
  const body = points.map((row) =>
    element(
      "tr",
      {},
      names.map((name) => drawCell(row[name], { name, isNumber: name === "silhouette" }, [])),
    ),
  );
  const thead = element("thead", {}, element("tr", {}, head));
  return [
    element("h2", {}, "Points of the lowest silhouettes"),
    scroll(element("table", {}, thead, element("tbody", {}, body))),
  ];
}

function drawQueries(queries) {
  const [read, sql] = [".read clustereval.sql", "clustereval sql"];
  return [
    element("h2", {}, "SQL"),
    element(
      "p",
      {},
      ...["The same numbers in DuckDB, after ", element("code", {}, read), ", which "],
      ...[element("code", {}, sql), " writes:"],
    ),
    element("pre", {}, queries.join("\n\n")),
  ];
}

function scroll(table) {
  return element("div", { class: "scroll" }, table);
}
