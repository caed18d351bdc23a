/** Facts and warnings: what a report is about, as polars_clustereval/page/facts.py writes them. */

import { INPUT } from "../files.js";
import { quoteName, quoteText } from "../statements.js";
import { count, percent, showCount } from "./numbers.js";
import { firstRow } from "./scores.js";

/** Of the rows, the share that one label that looks missing has to exceed. */
const LARGE_SHARE = 0.1;
/** Clusters that the note on unknown noise names. */
const MOST_NAMED = 5;

/** Return the input and the options that matter, as pairs of a name and a text. */
export function listFacts(name, choice, tables, method) {
  const external = firstRow(tables, "external_report");
  const internal = firstRow(tables, "internal_report");
  const counted = { ...internal, ...external };
  const n = (external ?? internal).n;
  const facts = [["data", name], ["rows", showCount(n)]];
  if (internal !== null && internal.n !== n) {
    facts[1][0] = "rows with a label";
    facts.push(["points", showCount(internal.n)]);
  }
  const titles = { n_clusters: "clusters", n_labels: "labels", n_dims: "dimensions" };
  for (const [column, title] of Object.entries(titles)) {
    if (column in counted) facts.push([title, showCount(counted[column])]);
  }
  if (internal !== null) facts.push(["silhouettes", describeMethod(method, internal.n)]);
  return [...facts, ...listOptions(choice)];
}

function describeMethod(method, n) {
  if (method.method === undefined) return `exact, ${showCount(n)} points`;
  const [sampled, compared] = [method.sample_size, method.reference_size].map(showCount);
  return `sample of ${sampled} points, ${compared} of each cluster to compare with, seed 0`;
}

/** Return the options of the command line that stand for what is chosen. */
function listOptions(choice) {
  const isGiven = choice.vector.length > 0 && choice.distance !== "euclidean";
  const options = {
    "--label": choice.label,
    "--cluster": choice.cluster,
    "--vector": choice.vector.join(",") || null,
    "--weight": choice.weight,
    "--distance": isGiven ? choice.distance : null,
    "--noise": choice.noise,
    "--noise-as": choice.noiseAs,
  };
  return Object.entries(options).filter(([, value]) => value !== null);
}

/** Return what a reader has to know before the numbers, a sentence each. */
export async function listWarnings(session, choice, tables, clusters, facts) {
  const row = firstRow(tables, "internal_report") ?? firstRow(tables, "external_report");
  const warnings = await warnOfDroppedRows(session, tables);
  if (row.n === 0) return [...warnings, "No row is left: no score is defined."];
  warnings.push(...(await warnOfNoise(session, choice, row, clusters, facts.words)));
  if (row.n_clusters === 1) {
    warnings.push("There is one cluster, so nothing is told apart.");
  }
  if (row.n_singletons) {
    const [all, have] = [count(row.n_clusters, "cluster"), row.n_singletons === 1 ? "has" : "have"];
    const single = showCount(row.n_singletons);
    warnings.push(`${single} of ${all} ${have} one point, whose silhouette is 0 by definition.`);
  }
  const [largest] = clusters;
  if (clusters.length > 1 && largest.share > facts.words.GIANT_SHARE) {
    const share = await percent(session, largest.share);
    warnings.push(
      `Cluster ${largest.cluster} has ${share} of the rows: scores by row or by pair say little ` +
        "of the others.",
    );
  }
  return warnings;
}

async function warnOfDroppedRows(session, tables) {
  const warnings = [];
  for (const [name, missing] of [["external_report", "label"], ["internal_report", "vector"]]) {
    const row = firstRow(tables, name);
    if (!row?.n_dropped) continue;
    const share = await percent(session, row.n_dropped / (row.n + row.n_dropped));
    const [has, isLeft] = row.n_dropped === 1 ? ["has", "is"] : ["have", "are"];
    const rows = count(row.n_dropped, "row");
    warnings.push(
      `${rows} (${share}) ${has} no ${missing} or no cluster, and ${isLeft} left out.`,
    );
  }
  return warnings;
}

async function warnOfNoise(session, { noise, noiseAs }, row, clusters, { NOISE_NAMES }) {
  if (row.n_noise) {
    const treated =
      { cluster: "counted as a cluster", drop: "left out" }[noiseAs] ??
      "each counted as a cluster of its own";
    const total = row.n + (noiseAs === "drop" ? row.n_noise : 0);
    const share = await percent(session, row.n_noise / total);
    const are = row.n_noise === 1 ? "is" : "are";
    return [`${count(row.n_noise, "row")} (${share}) ${are} noise, ${treated}.`];
  }
  if (noise !== null) return [warnOfUnknownNoise(noise, clusters)];
  return clusters
    .map(({ cluster }) => String(cluster))
    .filter((name) => NOISE_NAMES.includes(name.trim().toLowerCase()))
    .map((name) => `Cluster ${name} is counted as a cluster; if it is noise, enter it above.`);
}

function warnOfUnknownNoise(noise, clusters) {
  const names = clusters.map(({ cluster }) => String(cluster)).sort();
  const more = names.length > MOST_NAMED ? ", ..." : "";
  const some = names.slice(0, MOST_NAMED).join(", ");
  return `No row has cluster ${noise}; clusters are, for example, ${some}${more}.`;
}

/** Return sentences on labels that look like missing ones, and on zero vectors. */
export async function warnOfRows(session, choice, { placeholders }) {
  return [
    ...(choice.label === null ? [] : await warnOfLabels(session, choice.label, placeholders)),
    ...(choice.distance === "cosine" ? await warnOfZeroVectors(session, choice) : []),
  ];
}

async function warnOfLabels(session, label, placeholders) {
  const column = quoteName(label);
  const { rows } = await session.query(
    `WITH counts AS (SELECT CAST(${column} AS VARCHAR) AS label, COUNT(*) AS n, ` +
      `CAST(SUM(COUNT(*)) OVER () AS BIGINT) AS total FROM ${INPUT} ` +
      `WHERE ${column} IS NOT NULL AND typeof(${column}) = 'VARCHAR' GROUP BY 1) ` +
      `SELECT * FROM counts WHERE n > ${LARGE_SHARE} * total ` +
      `AND lower(trim(label)) IN (${placeholders.map(quoteText).join(", ")}) ` +
      "ORDER BY n DESC, label ASC LIMIT 1",
  );
  return rows.map(
    ([value, n, total]) =>
      `The label '${value}' of ${showCount(n)} of ${showCount(total)} rows counts ` +
      "as one label; if it stands for a missing one, make it NULL, so that these rows are left " +
      "out.",
  );
}

async function warnOfZeroVectors(session, { vector, isList }) {
  const names = vector.map(quoteName);
  const isZero = isList
    ? `list_min(${names[0]}) = 0 AND list_max(${names[0]}) = 0`
    : names.map((name) => `${name} = 0`).join(" AND ");
  const { rows } = await session.query(`SELECT COUNT(*) FROM ${INPUT} WHERE ${isZero}`);
  const [[n]] = rows;
  if (n === 0) return [];
  const subject = n === 1 ? "1 vector is zero: its" : `${showCount(n)} vectors are zero: their`;
  return [`${subject} cosine distance to every other one is 1.`];
}

/** Return the sentence on silhouettes of a sample, if they are. */
export function warnOfSample(method, n) {
  if (method.method === undefined) return [];
  const [sampled, compared] = [method.sample_size, method.reference_size].map(showCount);
  return [
    `The silhouettes are those of a sample of ${sampled} of ${showCount(n)} points (seed 0), ` +
      `compared with up to ${compared} points of each cluster, since all points would take long ` +
      "in a browser; clustereval report takes more of them.",
  ];
}
