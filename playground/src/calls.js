/** Calls: the SQL of each table of a report, from what is chosen in the form. */

import { INPUT } from "./files.js";
import { quoteName, quoteText } from "./statements.js";

/** The tables of a report in order: the title, the macro, and what it is called on. */
export const TABLES = [
  ["Summary of the labels", "external_summary", callOnLabels],
  ["95 % intervals of the scores", "external_intervals", callOnLabels],
  ["Summary of the points", "internal_summary", callOnPoints],
  ["Silhouette", "silhouette_score", callOnSilhouettes],
  ["Findings on the labels", "external_findings", callOnLabels],
  ["Findings on the points", "internal_findings", callOnSilhouettes],
  ["What distinguishes the clusters", "cluster_profile", callOnColumns],
  ["Labels of the clusters", "external_cluster_report", callOnLabels],
  ["Points of the clusters", "internal_cluster_report", callOnPoints],
  ["Silhouettes of the clusters", "silhouette_clusters", callOnSilhouettes],
  ["Points with the lowest silhouettes", "silhouette_samples", callOnLowest],
];

/** Exact silhouettes are computed up to this number of coordinates of pairs of points. */
const MOST_PRODUCTS = 1e9;
const SAMPLE = { method: quoteText("sample"), sample_size: 1000, reference_size: 500 };
/** Distances whose mean over a cluster follows from sums: exact at any size. */
const SUMMED = ["sqeuclidean", "cosine", "cityblock"];
const LOWEST =
  "ORDER BY silhouette ASC NULLS LAST, partition_key ASC NULLS LAST, id ASC NULLS LAST LIMIT 20";

/** Return the options of silhouettes: a sample if all points of the summary would take long. */
export function chooseMethod({ distance }, summary) {
  const valuesOf = (name) => summary.filter(({ metric }) => metric === name).map((x) => x.value);
  const sizes = valuesOf("n");
  const products = sizes.reduce((sum, n) => sum + n * n, 0) * Math.max(...valuesOf("n_dims"));
  const isFew = products <= MOST_PRODUCTS || Math.max(...sizes) <= SAMPLE.sample_size;
  return isFew || SUMMED.includes(distance) ? {} : SAMPLE;
}

// Each of these returns the query of a macro, or null if there is nothing to call it on. ----------

function callOnLabels(macro, choice) {
  const { label, cluster, weight } = choice;
  if (label === null) return null;
  const weighted = weight === null ? {} : { weight: quoteName(weight) };
  const options = { ...weighted, ...sharedOptions(choice) };
  return writeCall(macro, [quoteName(label), quoteName(cluster)], options);
}

function callOnPoints(macro, choice, others = {}) {
  const { vector, isList, cluster, distance, missing } = choice;
  if (vector.length === 0) return null;
  const names = vector.map(quoteName).join(", ");
  const options = { ...others, ...sharedOptions(choice) };
  if (distance !== "euclidean") options.distance = quoteText(distance);
  if (missing !== "error") options.missing = quoteText(missing);
  return writeCall(macro, [isList ? names : `[${names}]`, quoteName(cluster)], options);
}

/** The sample depends on the order of the ids. */
function callOnSilhouettes(macro, choice) {
  const named = choice.id === null ? {} : { id: quoteName(choice.id) };
  return callOnPoints(macro, choice, { ...named, ...choice.method });
}

function callOnLowest(macro, choice) {
  const samples = callOnSilhouettes(macro, choice);
  return samples === null || choice.id === null ? null : `${samples} ${LOWEST}`;
}

/** A profile has noise as a cluster or not at all. */
function callOnColumns(macro, choice) {
  if (choice.vector.length < 2) return null;
  const noiseAs = choice.noiseAs === "singletons" ? "drop" : choice.noiseAs;
  const columns = `[${choice.vector.map(quoteName).join(", ")}]`;
  const options = sharedOptions({ ...choice, noiseAs });
  return writeCall(macro, [columns, quoteName(choice.cluster)], options);
}

function sharedOptions({ partition, noise, noiseAs }) {
  return {
    ...(partition === null ? {} : { partition_by: quoteName(partition) }),
    ...(noise === null ? {} : { noise: quoteText(noise), noise_as: quoteText(noiseAs) }),
  };
}

function writeCall(macro, columns, options) {
  const optional = Object.entries(options).map(([name, value]) => `${name} := ${value}`);
  return `FROM clustereval.${macro}(${[INPUT, ...columns, ...optional].join(", ")})`;
}
