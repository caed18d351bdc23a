/** Queries: the SQL of each table that a report is made from. */

import { INPUT } from "../files.js";
import { quoteName, quoteText } from "../statements.js";

/** Exact silhouettes are computed up to this number of coordinates of pairs of points. */
const MOST_PRODUCTS = 1e9;
const SAMPLE_SIZE = 1000;
const REFERENCE_SIZE = 500;
/** Distances whose mean over a cluster follows from sums: exact at any size. */
const SUMMED = ["sqeuclidean", "cosine", "cityblock"];

/** Return how the silhouettes are computed: exactly, or from a sample if that takes long. */
export function chooseMethod({ distance }, { n, n_dims: nDims }) {
  const isExact = SUMMED.includes(distance) || n * n * (nDims ?? 0) <= MOST_PRODUCTS;
  if (isExact || n <= SAMPLE_SIZE) return {};
  return { method: "sample", sample_size: SAMPLE_SIZE, reference_size: REFERENCE_SIZE };
}

/** Return the tables of labels and clusters, by name. */
export function labelQueries(choice) {
  const { label, cluster, weight } = choice;
  const options = { ...(weight === null ? {} : { weight: quoteName(weight) }), ...noise(choice) };
  const call = (macro) => writeCall(macro, [quoteName(label), quoteName(cluster)], options);
  return {
    external_findings: call("external_findings"),
    external_report: call("external_report"),
    external_intervals: call("external_intervals"),
    external_cluster_report: call("external_cluster_report"),
  };
}

/** Return the tables of points without their silhouettes, by name. */
export function pointQueries(choice) {
  const call = (macro) => writeCall(macro, pointArguments(choice), pointOptions(choice));
  return {
    internal_report: call("internal_report"),
    internal_cluster_report: call("internal_cluster_report"),
  };
}

/** Return the tables of silhouettes, and of what is made with them. */
export function silhouetteQueries(choice, method) {
  const named = choice.id === null ? {} : { id: quoteName(choice.id) };
  const options = { ...pointOptions(choice), ...writeValues(method) };
  const call = (macro) => writeCall(macro, pointArguments(choice), options);
  const samples = writeCall("silhouette_samples", pointArguments(choice), { ...named, ...options });
  return {
    internal_findings: call("internal_findings"),
    silhouette_score: call("silhouette_score"),
    silhouette_clusters: call("silhouette_clusters"),
    ...(choice.id === null ? {} : { silhouette_samples: samples }),
  };
}

/** Return the table of what distinguishes each cluster in several columns of coordinates. */
export function profileQuery(choice) {
  const marked = noise(choice);
  if (choice.noiseAs === "singletons") marked.noise_as = quoteText("drop");
  const columns = `[${choice.vector.map(quoteName).join(", ")}]`;
  return writeCall("cluster_profile", [columns, quoteName(choice.cluster)], marked);
}

function pointArguments({ vector, isList, cluster }) {
  const names = vector.map(quoteName).join(", ");
  return [isList ? names : `[${names}]`, quoteName(cluster)];
}

function pointOptions(choice) {
  const distance = choice.distance === "euclidean" ? {} : { distance: quoteText(choice.distance) };
  return { ...distance, ...noise(choice) };
}

function noise(choice) {
  if (choice.noise === null) return {};
  return { noise: quoteText(choice.noise), noise_as: quoteText(choice.noiseAs) };
}

function writeValues(values) {
  const write = (value) => (typeof value === "string" ? quoteText(value) : String(value));
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, write(value)]));
}

function writeCall(macro, columns, options) {
  const optional = Object.entries(options).map(([name, value]) => `${name} := ${value}`);
  return `FROM clustereval.${macro}(${[INPUT, ...columns, ...optional].join(", ")})`;
}
