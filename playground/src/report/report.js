/** The report: what `clustereval report` writes about one clustering, computed in the browser. */

import { asRecords } from "../values.js";
import { chooseClusters, listClusterTables } from "./clusters.js";
import { percent } from "./numbers.js";
import { fillTemplate } from "./page.js";
import { chooseHeadlines, firstRow, groupScores, judgeScores } from "./scores.js";
import { describeClusters, fill, listAnswers, listSteps } from "./sentences.js";
import { readTables } from "./tables.js";
import { listFacts, listWarnings, warnOfRows, warnOfSample } from "./warnings.js";

/** Return the page about an input, as the text of an HTML file; `say` shows what is going on. */
export async function makeReport(session, input, choice, say) {
  say("Reading the rows …");
  const [facts, template] = await Promise.all(["facts.json", "template.html"].map(readAsset));
  await session.query(input.create(choice));
  const content = await describe(session, input, choice, JSON.parse(facts), say);
  const page = fillTemplate(template, content, JSON.parse(facts).version);
  return `<!DOCTYPE html>\n${page.documentElement.outerHTML}\n`;
}

async function readAsset(name) {
  const response = await fetch(new URL(name, import.meta.url));
  if (!response.ok) throw new Error(`${name} could not be loaded: status ${response.status}`);
  return response.text();
}

async function describe(session, input, choice, facts, say) {
  const limits = { mostLowPoints: facts.words.MOST_LOW_POINTS };
  const { tables, queries, method } = await readTables(session, choice, limits, say);
  say("Writing the report …");
  const isSample = method.method === "sample";
  const groups = groupScores(tables, facts, { isSample, distance: choice.distance });
  const headlines = chooseHeadlines(groups, tables, facts);
  const clusters = listClusterTables(tables, facts);
  const [labeled, { rows }] = [clusters[0].rows, clusters.at(-1)];
  const remark = await remarkOn(session, labeled, facts);
  const found = ["external_findings", "internal_findings"].filter((name) => name in tables);
  const findings = found.map((name) => asRecords(tables[name]));
  return {
    title: `Clustering of ${input.name}`,
    facts: listFacts(input.name, choice, tables, method),
    warnings: [
      ...(await listWarnings(session, choice, tables, rows, facts)),
      ...(await warnOfRows(session, choice, facts)),
      ...warnOfSample(method, firstRow(tables, "internal_report")?.n),
    ],
    answers: [
      ...judgeScores(headlines, facts, tables, choice, remark),
      ...listAnswers(findings, facts),
    ],
    steps: listSteps(findings, labeled, facts),
    descriptions: describeLargest(tables, rows, facts),
    headlines,
    groups,
    clusters: clusters.map((table) => ({
      ...table,
      ...chooseClusters(table, facts),
      ...namesOf(facts),
    })),
    lowPoints: "silhouette_samples" in tables ? asRecords(tables.silhouette_samples) : null,
    queries: [input.written(choice), ...queries.map((sql) => `${sql};`)],
    versions: await listVersions(session, input, facts),
  };
}

/** Return a remark on scores of pairs if one cluster holds most rows. */
async function remarkOn(session, rows, { words }) {
  const [largest] = rows;
  if (rows.length < 2 || largest.share <= words.GIANT_SHARE) return "";
  const share = await percent(session, largest.share);
  return fill(words.MOSTLY_IN_ONE, { cluster: largest.cluster, share });
}

function namesOf({ clusterColumns, nameColumns }) {
  return { meanings: clusterColumns, nameColumns };
}

function describeLargest(tables, rows, facts) {
  if (!("cluster_profile" in tables) || rows.length < 2) return [];
  const largest = rows.slice(0, facts.words.MOST_DESCRIBED).map(({ cluster }) => String(cluster));
  return describeClusters(asRecords(tables.cluster_profile), largest, facts);
}

async function listVersions(session, { file, name }, { version }) {
  const { rows } = await session.query("SELECT version()");
  const versions = [["polars_clustereval", version], ["duckdb", `${rows[0][0]}, in a browser`]];
  // The browser has no digests on pages of other computers without https.
  if (file === null || crypto.subtle === undefined) return versions;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
  const digits = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [...versions, [`SHA-256 of ${name}`, digits]];
}
