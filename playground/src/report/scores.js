/** Scores: the values of a report with what they are, as polars_clustereval/page/findings.py. */

import { asRecords } from "../values.js";
import { showCount, showNumber } from "./numbers.js";

/** The tables of scores, by the name of their facts. */
const TABLES = {
  external: "external_report",
  silhouette: "silhouette_score",
  internal: "internal_report",
};

/** Return the only row of a table as an object, or null if there is no such table. */
export function firstRow(tables, name) {
  return name in tables ? asRecords(tables[name])[0] : null;
}

/** Return all scores, by the title of their group. */
export function groupScores(tables, facts, { isSample, distance }) {
  const groups = new Map();
  const intervals = indexIntervals(tables);
  for (const [report, table] of Object.entries(TABLES)) {
    let title = "counts";
    for (const [name, value] of Object.entries(firstRow(tables, table) ?? {})) {
      title = facts.titles[report][name] ?? title;
      if (isNoScore(name, facts, { isSample })) continue;
      const score = describe(name, value, facts, { isSample, distance });
      score.limits = limitsOf(name, tables, intervals, isSample);
      groups.set(title, [...(groups.get(title) ?? []), score]);
    }
  }
  return groups;
}

function isNoScore(name, { words }, { isSample }) {
  const isOfSample = name === "std_error" && !isSample;
  return name === "partition_key" || words.NOT_SCORES.includes(name) || isOfSample;
}

function describe(name, value, facts, { isSample, distance }) {
  const known = facts.scores[name] ?? { title: name, text: "", best: "", range: "" };
  const isRead = !(name === "silhouette" && distance === "sqeuclidean");
  const text = (isSample && facts.textsOfASample[name]) || known.text;
  return { name, value, ...known, text, reading: isRead ? read(known.scale, value) : "" };
}

/** Return the word that the literature has for a value, with its source. */
function read(scale, value) {
  if (scale === undefined || value === null) return "";
  const [, word] = scale.words.find(([bound]) => value > bound) ?? [null, scale.otherwise];
  return `${word} (${scale.authors})`;
}

function indexIntervals(tables) {
  if (!("external_intervals" in tables)) return {};
  return Object.fromEntries(asRecords(tables.external_intervals).map((row) => [row.metric, row]));
}

/** Return the limits of a score in words, nothing if they are not known. */
function limitsOf(name, tables, intervals, isSample) {
  const write = (words, lower, upper) =>
    lower === null || upper === null
      ? ""
      : `${words} ${showNumber(lower)} to ${showNumber(upper)}`;
  if (name === "silhouette" && isSample) {
    const row = firstRow(tables, "silhouette_score");
    return write("limits:", row.silhouette_lower, row.silhouette_upper);
  }
  if (!(name in intervals)) return "";
  return write("95 % interval:", intervals[name].lower, intervals[name].upper);
}

/** Return the scores at the top of the page. */
export function chooseHeadlines(groups, tables, { words }) {
  const row = firstRow(tables, "external_report");
  const isOfEntities =
    row !== null && row.n_labels * words.FEW_ROWS > row.n && row.n > words.FEW_ROWS;
  const names = isOfEntities ? words.HEADLINES_OF_ENTITIES : words.HEADLINES;
  const scores = [...groups.values()].flat();
  return names.flatMap((name) => scores.filter((score) => score.name === name).slice(0, 1));
}

/** Return which rows a score is of, if at least a tenth of all rows are left out. */
function describeRest({ n, n_dropped: dropped, n_noise: noise }, { noiseAs }) {
  const out = dropped + (noiseAs === "drop" ? noise : 0);
  const [some, all] = [n, n + out].map(showCount);
  return 10 * out >= n + out ? `, of the ${some} of ${all} rows that are left` : "";
}

/** Return a sentence for each score that the literature has a word for. */
export function judgeScores(scores, { words }, tables, choice, remark) {
  const reports = { silhouette: "internal_report", adjusted_rand_score: "external_report" };
  return scores
    .filter(({ name, reading }) => name in words.JUDGED && reading !== "")
    .map(({ name, title, value, limits, reading }) => {
      const what = title[0].toLowerCase() + title.slice(1);
      const within = limits === "" ? "" : `, ${limits.replace(":", "")}`;
      const score = `${what} ${showNumber(value)}${within}`;
      const behind = name === "adjusted_rand_score" ? remark : "";
      const rest = describeRest(firstRow(tables, reports[name]), choice);
      const text = `${words.JUDGED[name]}: ${reading}, ${score}${rest}${behind}`;
      return { severity: "note", text, place: "scores" };
    });
}
