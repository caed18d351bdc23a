/** Values: tables of Arrow as plain values, and values as texts. */

import { DataType } from "apache-arrow";

/** Return the columns and rows of a table of Arrow; its values are those of JSON. */
export function readTable(table) {
  const types = table.schema.fields.map((field) => field.type);
  const columns = table.schema.fields.map(({ name, type }) => ({ name, isNumber: isNumber(type) }));
  const vectors = types.map((_, i) => table.getChildAt(i));
  const rows = Array.from({ length: table.numRows }, (_, row) =>
    vectors.map((vector, i) => plain(vector.get(row), types[i])),
  );
  return { columns, rows };
}

/** Return the rows of a result as objects. */
export function asRecords({ columns, rows }) {
  return rows.map((row) => Object.fromEntries(columns.map(({ name }, i) => [name, row[i]])));
}

function isNumber(type) {
  return DataType.isInt(type) || DataType.isFloat(type) || DataType.isDecimal(type);
}

/** Return a value as JSON has it; whole numbers that JSON would round are texts. */
function plain(value, type) {
  if (value === null || value === undefined) return null;
  const [, read] = READERS.find(([isOfType]) => isOfType(type)) ?? [null, String];
  return read(value, type);
}

const READERS = [
  [DataType.isInt, readInteger],
  [DataType.isFloat, (value) => (Number.isFinite(value) ? value : String(value))],
  [DataType.isBool, (value) => value],
  [DataType.isUtf8, String],
  [DataType.isDecimal, (value, type) => readDecimal(value, type.scale)],
  [DataType.isDate, (value) => new Date(Number(value)).toISOString().slice(0, 10)],
  [DataType.isTimestamp, readTimestamp],
  [DataType.isDictionary, (value, type) => plain(value, type.dictionary)],
  [isListType, (value, type) => Array.from(value, (item) => plain(item, type.children[0].type))],
  [DataType.isStruct, readStruct],
  [DataType.isMap, (value) => JSON.parse(JSON.stringify(value.toJSON()))],
];

function isListType(type) {
  return DataType.isList(type) || DataType.isFixedSizeList(type);
}

function readInteger(value) {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

/** Return a decimal of 128 bits, the lowest of its four words first, as a number. */
function readDecimal(words, scale) {
  const unsigned = [...words].reduceRight((sum, word) => (sum << 32n) | BigInt(word), 0n);
  const integer = BigInt.asIntN(128, unsigned);
  return scale === 0 ? readInteger(integer) : Number(integer) / 10 ** scale;
}

function readTimestamp(value) {
  return new Date(Number(value)).toISOString().replace("T", " ").replace("Z", "");
}

function readStruct(value, type) {
  const fields = type.children.map((field) => [field.name, plain(value[field.name], field.type)]);
  return Object.fromEntries(fields);
}

/** Return a value as a short text, numbers with six significant digits. */
export function showValue(value) {
  if (value === null) return "NULL";
  if (typeof value === "number") return shorten(value);
  if (typeof value !== "object") return String(value);
  return JSON.stringify(value, (_, x) => (typeof x === "number" ? Number(shorten(x)) : x));
}

function shorten(number) {
  return Number.isInteger(number) ? String(number) : String(Number(number.toPrecision(6)));
}
