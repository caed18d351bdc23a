/**
 * Build the scripts of the playground: node build.mjs FOLDER
 *
 * Next to them come the files of DuckDB-Wasm, so that the page loads nothing from another host.
 */

import { copyFile, mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const duckdb = dirname(createRequire(import.meta.url).resolve("@duckdb/duckdb-wasm"));
const folder = process.argv[2];

await mkdir(folder, { recursive: true });
await build({
  entryPoints: ["site.js", "site.css", "engine.js"].map((file) => join(here, "src", file)),
  outdir: folder,
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: true,
  chunkNames: "[name]-[hash]",
  legalComments: "linked",
});
for (const flavor of ["mvp", "eh"]) {
  for (const file of [`duckdb-${flavor}.wasm`, `duckdb-browser-${flavor}.worker.js`]) {
    await copyFile(join(duckdb, file), join(folder, file));
  }
}
