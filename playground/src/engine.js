/** The engine: DuckDB in a worker, with the macros and the example data, started once. */

import * as duckdb from "@duckdb/duckdb-wasm";

import { isSetup, quoteName, splitStatements } from "./statements.js";
import { readTable } from "./values.js";

const locate = (file) => new URL(file, import.meta.url).href;

const BUNDLES = {
  mvp: {
    mainModule: locate("duckdb-mvp.wasm"),
    mainWorker: locate("duckdb-browser-mvp.worker.js"),
  },
  eh: {
    mainModule: locate("duckdb-eh.wasm"),
    mainWorker: locate("duckdb-browser-eh.worker.js"),
  },
};

const SETTINGS = [
  // Extensions are files of another host: what needs one ends with an error that names it.
  "SET autoinstall_known_extensions = false",
  "SET autoload_known_extensions = false",
  "ATTACH 'clustereval.duckdb' AS clustereval (READ_ONLY)",
  "ATTACH 'examples.duckdb' AS example_data (READ_ONLY)",
];

/** How long the parts of the start took, in milliseconds. */
export const times = {};
let started = null;

/** Return the database, which is loaded on the first call; `say` shows what is going on. */
export function startEngine(say) {
  if (started === null) {
    started = start(say);
    started.catch(() => (started = null)); // another click tries again
  } else {
    say("Loading DuckDB …");
  }
  return started;
}

async function start(say) {
  say("Loading DuckDB, about 36 MB the first time …");
  const begin = performance.now();
  const bundle = await duckdb.selectBundle(BUNDLES);
  const { worker, failed } = startWorker(bundle.mainWorker);
  const database = new duckdb.AsyncDuckDB(new duckdb.VoidLogger(), worker);
  const files = Promise.all(["clustereval.duckdb", "examples.duckdb"].map(fetchFile));
  await Promise.race([database.instantiate(bundle.mainModule), failed]);
  await database.open({});
  times.instantiate = performance.now() - begin;
  say("Attaching the macros …");
  for (const [name, bytes] of await files) await database.registerFileBuffer(name, bytes);
  await attach(database);
  times.start = performance.now() - begin;
  return database;
}

/** Start the worker from a blob: it then has the page's policy on what may be loaded. */
function startWorker(url) {
  const script = new Blob([`importScripts(${JSON.stringify(url)});`], { type: "text/javascript" });
  const worker = new Worker(URL.createObjectURL(script));
  const failed = new Promise((_, reject) => {
    worker.addEventListener("error", (event) => {
      reject(new Error(`DuckDB could not be loaded: ${event.message ?? url}`));
    });
  });
  failed.catch(() => {});
  return { worker, failed };
}

async function fetchFile(name) {
  const response = await fetch(locate(name));
  if (!response.ok) throw new Error(`${name} could not be loaded: status ${response.status}`);
  return [name, new Uint8Array(await response.arrayBuffer())];
}

/** Attach the macros, and make the example data visible under the names of their files. */
async function attach(database) {
  const connection = await database.connect();
  const begin = performance.now();
  for (const statement of SETTINGS) await connection.query(statement);
  const names = await connection.query(
    "SELECT table_name FROM duckdb_tables() WHERE database_name = 'example_data'",
  );
  for (const [name] of readTable(names).rows) {
    for (const statement of showTable(name)) await connection.query(statement);
  }
  times.attach = performance.now() - begin;
  await connection.close();
}

/**
 * Return the statements that make a table of the example data visible. Before version 2, DuckDB
 * takes the name of a file that is an argument of a macro for that of a schema and a table,
 * separated by a period.
 */
function showTable(name) {
  const source = `example_data.main.${quoteName(name)}`;
  const [, schema, table] = name.match(/^(.*)\.(\w+)$/);
  const create = (view) => `CREATE VIEW ${view} AS FROM ${source}`;
  const other = `${quoteName(schema)}.${quoteName(table)}`;
  return [create(quoteName(name)), `CREATE SCHEMA ${quoteName(schema)}`, create(other)];
}

/** A connection, which has temporary tables and views of its own. */
export class Session {
  static async open(say) {
    const database = await startEngine(say);
    return new Session(database, await database.connect());
  }

  constructor(database, connection) {
    this.database = database;
    this.connection = connection;
  }

  /** Return the columns and rows of one statement. */
  async query(statement) {
    return readTable(await this.connection.query(statement));
  }

  /** Run a text of SQL; return the results of the statements that have rows to show. */
  async run(text) {
    const results = [];
    for (const statement of splitStatements(text)) {
      const result = await this.query(statement);
      if (!isSetup(statement)) results.push(result);
    }
    return results;
  }

  /** Run only the statements that prepare others. */
  async prepare(text) {
    for (const statement of splitStatements(text).filter(isSetup)) await this.query(statement);
  }

  close() {
    return this.connection.close();
  }
}
