/** Parquet: files read in JavaScript, since DuckDB-Wasm would fetch an extension for them. */

import * as arrow from "apache-arrow";
import { parquetMetadataAsync, parquetReadObjects, parquetSchema } from "hyparquet";
import { compressors } from "hyparquet-compressors";

/** Read a Parquet file into a new table. */
export async function insertParquet(session, file, table) {
  const buffer = { byteLength: file.size, slice: (...range) => file.slice(...range).arrayBuffer() };
  const metadata = await parquetMetadataAsync(buffer);
  const rows = await parquetReadObjects({ file: buffer, metadata, compressors });
  const columns = parquetSchema(metadata).children.map(({ element }) => element);
  const vectors = columns.map((column) => [
    column.name,
    makeVector(rows.map((row) => row[column.name] ?? null), column),
  ]);
  const ipc = arrow.tableToIPC(new arrow.Table(Object.fromEntries(vectors)), "stream");
  await session.connection.insertArrowFromIPCStream(ipc, { name: table, create: true });
}

function makeVector(values, column) {
  const first = values.find((value) => value !== null);
  const { type, convert } = readerOf(first, column, values);
  const converted = values.map((value) => (value === null ? null : convert(value)));
  return arrow.vectorFromArray(converted, type);
}

/** Return the type of a column and the conversion of its values, by the first of them. */
function readerOf(value, column, values) {
  const asIs = (x) => x;
  if (typeof value === "boolean") return { type: new arrow.Bool(), convert: asIs };
  if (typeof value === "number") return { type: typeOfNumbers(values, column), convert: asIs };
  if (typeof value === "bigint") return { type: new arrow.Int64(), convert: asIs };
  if (value instanceof Date) return { type: typeOfDates(column), convert: Number };
  if (isListOfNumbers(value)) return { type: LIST, convert: (x) => Array.from(x, toNumber) };
  return { type: new arrow.Utf8(), convert: toText };
}

const LIST = new arrow.List(new arrow.Field("item", new arrow.Float64()));

/** Whole numbers stay whole: names of clusters are written without a period. */
function typeOfNumbers(values, column) {
  const isWhole = (value) => value === null || (value | 0) === value;
  const isInteger = column.type === "INT32" && values.every(isWhole);
  return isInteger ? new arrow.Int32() : new arrow.Float64();
}

function typeOfDates(column) {
  const isDay = [column.converted_type, column.logical_type?.type].includes("DATE");
  return isDay ? new arrow.DateDay() : new arrow.TimestampMillisecond();
}

function isListOfNumbers(value) {
  const isList = Array.isArray(value) || ArrayBuffer.isView(value);
  return isList && Array.from(value).every((x) => x === null || isNumeric(x));
}

function isNumeric(value) {
  return typeof value === "number" || typeof value === "bigint";
}

function toNumber(value) {
  return value === null ? null : Number(value);
}

function toText(value) {
  if (typeof value === "string") return value;
  return JSON.stringify(value, (_, part) => (typeof part === "bigint" ? String(part) : part));
}
