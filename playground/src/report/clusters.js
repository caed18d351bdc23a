/** Clusters: the table with a row per cluster, the largest first. */

import { asRecords } from "../values.js";
import { showCount } from "./numbers.js";

const SOURCES = ["external_cluster_report", "internal_cluster_report", "silhouette_clusters"];

/** Return the columns and the rows, as objects, of the table by cluster. */
export function joinClusters(tables, total, { clusterColumns }) {
  const sources = SOURCES.filter((name) => name in tables);
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
