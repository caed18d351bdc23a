/** Clusters: the tables with a row per cluster, the largest first. */

import { asRecords } from "../values.js";
import { showCount } from "./numbers.js";

const SOURCES = ["external_cluster_report", "internal_cluster_report", "silhouette_clusters"];

/** Return the table by cluster, or two if labels and points are not of the same rows. */
export function listClusterTables(tables, { clusterColumns, words }) {
  const n = (name) => asRecords(tables[name])[0].n;
  const join = (title, sources, total) => ({
    title,
    ...joinClusters(tables, sources.filter((name) => name in tables), total, clusterColumns),
  });
  const isBoth = "external_report" in tables && "internal_report" in tables;
  if (!isBoth || n("external_report") === n("internal_report")) {
    const counted = "external_report" in tables ? "external_report" : "internal_report";
    return [join(words.CLUSTERS, SOURCES, n(counted))];
  }
  const [ofLabels, ...ofPoints] = SOURCES;
  return [
    join(words.CLUSTERS_OF_LABELS, [ofLabels], n("external_report")),
    join(words.CLUSTERS_OF_POINTS, ofPoints, n("internal_report")),
  ];
}

/** Return the columns and the rows, as objects, of one table. */
function joinClusters(tables, sources, total, clusterColumns) {
  const columns = new Map();
  const rows = new Map();
  for (const [i, name] of sources.entries()) {
    const added = tables[name].columns.filter(
      (column) => column.name in clusterColumns && !columns.has(column.name),
    );
    for (const column of added) columns.set(column.name, column);
    for (const record of asRecords(tables[name])) addRow(rows, record, added, i === 0);
  }
  for (const row of rows.values()) row.share = row.n / total;
  columns.set("share", { name: "share", isNumber: true, isInteger: false });
  const sorted = [...rows.values()].sort((one, other) => other.n - one.n);
  if (!sorted.some((row) => row.std_error)) columns.delete("std_error"); // nothing is sampled
  const order = Object.keys(clusterColumns).filter((name) => columns.has(name));
  return { columns: order.map((name) => columns.get(name)), rows: sorted };
}

/** Add the columns of a record to the row of its cluster; noise as singletons has no row. */
function addRow(rows, record, columns, isFirst) {
  if (record.cluster === null) return;
  const key = JSON.stringify(record.cluster);
  if (!rows.has(key) && !isFirst) return;
  const row = rows.get(key) ?? { cluster: record.cluster };
  for (const { name } of columns) row[name] = record[name];
  rows.set(key, row);
}

/** Return at most MAX_CLUSTERS rows, and a sentence on the choice. */
export function chooseClusters({ columns, rows }, { words, highIsBest }) {
  if (rows.length <= words.MAX_CLUSTERS) return { rows, note: "" };
  const names = columns.map(({ name }) => name);
  const quality = words.QUALITIES.find((name) => names.includes(name));
  const sign = highIsBest.includes(quality) ? 1 : -1;
  const half = Math.floor(words.MAX_CLUSTERS / 2);
  const worstFirst = sortBy(rows, (row) => row[quality], sign);
  const others = sortBy(worstFirst.slice(half), (row) => row[quality], -sign);
  const [all, by] = [showCount(rows.length), quality.replaceAll("_", " ")];
  return {
    rows: [...worstFirst.slice(0, half), ...others.slice(0, half).reverse()],
    note: `The ${half} worst and the ${half} best of ${all} clusters, by ${by}.`,
  };
}

/** Sort rows by a number, of equal ones the largest cluster first; those without one come last. */
function sortBy(rows, key, sign) {
  return [...rows].sort((one, other) => {
    const [a, b] = [key(one), key(other)];
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (a - b) || other.n - one.n;
  });
}
