/** Files: CSV and Parquet files of the user as tables. They are read in place, not uploaded. */

import { DuckDBDataProtocol } from "@duckdb/duckdb-wasm";

import { asRecords } from "./values.js";
import { quoteName, quoteText } from "./statements.js";

/** The table that is scored, under the name that the command line gives it. */
export const INPUT = "clustereval_input";
const EXAMPLE = "examples/iris.parquet";
const PREVIEWED = 3;

/**
 * An input: its name, its columns with their types, its first rows, `create`, which returns the SQL
 * that makes it the table to score, and `written`, the same for DuckDB elsewhere.
 */
async function makeInput(session, name, rows, { create, written }) {
  const described = asRecords(await session.query(`DESCRIBE ${rows}`));
  const columns = described.map((row) => ({ name: row.column_name, type: row.column_type }));
  const preview = await session.query(`${rows} LIMIT ${PREVIEWED}`);
  return { name, columns, preview, create, written };
}

export function describeExample(session) {
  const rows = `FROM ${quoteText(EXAMPLE)}`;
  const written = () => `CREATE OR REPLACE TEMP VIEW ${INPUT} AS\n${rows};`;
  const create = () => `CREATE OR REPLACE TABLE ${INPUT} AS ${rows}`;
  return makeInput(session, EXAMPLE, rows, { create, written });
}

export async function describeFile(session, file) {
  const head = await file.slice(0, 4).text();
  return head === "PAR1" ? describeParquet(session, file) : describeCsv(session, file);
}

// CSV -------------------------------------------------------------------------------------------

let registered = null;

/** Make a file known to DuckDB in place of the one before; return its name there. */
async function register(session, file) {
  if (registered !== null) await session.database.dropFile(registered);
  const ending = file.name.match(/(\.\w+)?(\.gz)?$/)[0];
  registered = `dropped_${performance.now()}${ending}`;
  const reader = DuckDBDataProtocol.BROWSER_FILEREADER;
  await session.database.registerFileHandle(registered, file, reader, true);
  return registered;
}

async function describeCsv(session, file) {
  const path = await register(session, file);
  const read = (name, texts) => `FROM read_csv(${quoteText(name)}, sample_size = -1${texts})`;
  return makeInput(session, file.name, read(path, ""), {
    create: (choice) =>
      `CREATE OR REPLACE TABLE ${INPUT} AS ${read(path, typesOfNames(choice))}`,
    written: (choice) =>
      `CREATE OR REPLACE TEMP VIEW ${INPUT} AS\n${read(file.name, typesOfNames(choice))};`,
  });
}

/** Names of labels, clusters and rows are texts: as numbers, 01 and 1 would be one name. */
function typesOfNames({ label, clusters, id }) {
  const names = [...new Set([label, ...clusters, id])].filter((name) => name !== null);
  const types = names.map((name) => `${quoteText(name)}: 'VARCHAR'`);
  return `, types = {${types.join(", ")}}`;
}

// Parquet ---------------------------------------------------------------------------------------

async function describeParquet(session, file) {
  const { insertParquet } = await import("./parquet.js");
  const table = "clustereval_parquet";
  await session.query(`DROP TABLE IF EXISTS ${quoteName(table)}`);
  await insertParquet(session, file, table);
  const written = () =>
    `CREATE OR REPLACE TEMP VIEW ${INPUT} AS\nFROM ${quoteText(file.name)};`;
  const create = () => `CREATE OR REPLACE TABLE ${INPUT} AS FROM ${table}`;
  return makeInput(session, file.name, `FROM ${table}`, { create, written });
}
