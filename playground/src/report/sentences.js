/** Sentences: findings, steps and descriptions, as in polars_clustereval/page/answers.py. */

import { showNumber } from "./numbers.js";

const RANKS = ["problem", "warning", "note"];

/** Return a text with the values of a row in place of the {names}. */
export function fill(words, row) {
  return words.replace(/\{(\w+)\}/g, (_, name) => String(row[name]));
}

/** Return a row of findings where clusters and labels without a name are called noise. */
function nameNoise(row) {
  return Object.fromEntries(Object.entries(row).map(([name, x]) => [name, x ?? "noise"]));
}

/** Return a row of findings as a sentence without a period. */
function writeSentence(row, sentences) {
  const about = row.cluster === null ? ["", ""] : ["cluster {cluster}: ", ""];
  const [before, behind] = sentences[row.code] ?? about;
  const isNamed = row.finding.startsWith(before.split("{")[0]);
  const words = isNamed
    ? row.finding
    : fill(before, nameNoise(row)) + row.finding + fill(behind, nameNoise(row));
  return words[0].toUpperCase() + words.slice(1);
}

/** Return a sentence for each finding, or one for many of a kind; the worst first. */
export function listAnswers(tables, facts) {
  const known = [...Object.keys(facts.words.SUMMED_UP), ...facts.words.ALONE];
  const answers = tables.flatMap((rows) =>
    groupByCode(rows.filter(({ code }) => known.includes(code))).flatMap((alike) =>
      answerAlike(alike, facts),
    ),
  );
  return answers.sort((one, other) => RANKS.indexOf(one.severity) - RANKS.indexOf(other.severity));
}

function groupByCode(rows) {
  const groups = new Map();
  for (const row of rows) groups.set(row.code, [...(groups.get(row.code) ?? []), row]);
  return [...groups.values()];
}

function answerAlike(rows, { words, sentences }) {
  const make = (severity, text) => ({ severity, text, place: "clusters" });
  if (rows.length <= words.MOST_ALIKE || words.ALONE.includes(rows[0].code)) {
    return rows.map((row) => make(row.severity, writeSentence(row, sentences)));
  }
  const [all, name] = words.SUMMED_UP[rows[0].code];
  const names = rows.slice(0, words.MOST_NAMED).map((row) => fill(name, nameNoise(row)));
  const more = rows.length > words.MOST_NAMED ? ", …" : "";
  const text = fill(all, { n: showNumber(rows.length, true) });
  return [make(rows[0].severity, `${text}: ${names.join(", ")}${more}`)];
}

/** Return what to try next, a sentence for each kind of finding that suggests something. */
export function listSteps(tables, clusters, { words }) {
  const supported = tables.map((rows) => rows.filter(supportedBy(tables, clusters, words)));
  const first = {};
  for (const row of supported.flatMap((rows) => [...rows].reverse())) first[row.code] = row;
  return Object.entries(words.NEXT_STEPS)
    .filter(([code, step]) => code in first && !missesName(step, first[code]))
    .map(([code, step]) => fill(step, first[code]));
}

/** Return a test whether the labels support a merge or a split; without labels, none does. */
function supportedBy(tables, clusters, words) {
  const pure = clusters.filter(({ purity }) => purity >= words.UNDIVIDED_SHARE);
  const labels = new Map(pure.map((row) => [String(row.cluster), String(row.majority_label)]));
  const mixed = tables.flat().filter(({ code }) => code === "mixed_cluster");
  return ({ code, cluster, other_cluster: other }) => {
    if (code === "giant_cluster") return mixed.some((row) => row.cluster === cluster);
    const [one, same] = [cluster, other].map((name) => labels.get(String(name)));
    return code !== "close_clusters" || (one !== undefined && one === same);
  };
}

/** Return whether a step names a cluster or label that has no name. */
function missesName(step, row) {
  const names = ["cluster", "other_cluster", "label"];
  return names.some((name) => step.includes(`{${name}}`) && row[name] === null);
}

/** Return what distinguishes clusters, by their names, from rows of cluster_profile. */
export function describeClusters(profile, clusters, { words }) {
  const described = new Map(clusters.map((cluster) => [cluster, []]));
  const seen = new Set();
  for (const row of profile.filter(({ v_test: v }) => Math.abs(v) >= words.LEAST_V_TEST)) {
    const named = described.get(String(row.cluster));
    const column = JSON.stringify([row.cluster, row.column_name, row.kind]);
    // The categories of one column say much the same: only the strongest of each counts.
    if (named === undefined || seen.has(column) || named.length >= words.MOST_COLUMNS) continue;
    seen.add(column);
    named.push(describeColumn(row));
  }
  return [...described].map(([cluster, named]) => [
    cluster,
    named.length > 0 ? named.join(", ") : words.NOT_DISTINGUISHED,
  ]);
}

function describeColumn(row) {
  const v = `v ${row.v_test.toFixed(1)}`;
  if (row.kind === "category" || row.kind === "missing") {
    const what = row.kind === "category" ? row.category : "missing";
    return `${row.column_name} ${what} in ${row.percent} (elsewhere ${row.rest_percent}; ${v})`;
  }
  const direction = row.v_test < 0 ? "low" : "high";
  const means = `${showNumber(row.mean)}, elsewhere ${showNumber(row.rest_mean)}`;
  return `${row.column_name} ${direction} (${means}; ${v})`;
}
