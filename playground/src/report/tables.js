/** Tables: the rows of all macros that a report is made from. */

import { asRecords } from "../values.js";
import {
  chooseMethod,
  labelQueries,
  pointQueries,
  profileQuery,
  silhouetteQueries,
} from "./queries.js";

/** What a query adds to the rows of a macro: numbers as the texts of the findings. */
const TEXTS = {
  external_findings:
    "clustereval._percent_below(value, clustereval._undivided_share()) AS percent",
  internal_findings:
    "clustereval._decimals_below(value, clustereval._low_silhouette()) AS silhouette, " +
    "clustereval._whole_above(value, clustereval._far_ratio()) AS times",
  cluster_profile:
    "CASE WHEN kind IN ('category', 'missing') THEN clustereval._percent_as_text(mean) END " +
    "AS percent, CASE WHEN kind IN ('category', 'missing') " +
    "THEN clustereval._percent_as_text(rest_mean) END AS rest_percent",
};

const LOWEST =
  "SELECT id, cluster, neighbor, silhouette " +
  "ORDER BY silhouette ASC NULLS LAST, id ASC NULLS LAST LIMIT ";

/** Return the tables by name, the queries that they are from, and the method of silhouettes. */
export async function readTables(session, choice, { mostLowPoints }, say) {
  const reader = new Reader(session, say);
  if (choice.label !== null) await reader.read(labelQueries(choice));
  let method = {};
  if (choice.vector.length > 0) {
    const queries = pointQueries(choice);
    await reader.read(queries);
    method = chooseMethod(choice, reader.rows("internal_report")[0]);
    await reader.read(silhouetteQueries(choice, method), mostLowPoints);
    if (choice.vector.length > 1) await reader.read({ cluster_profile: profileQuery(choice) });
  }
  return { tables: reader.tables, queries: Object.values(reader.queries), method };
}

class Reader {
  constructor(session, say) {
    Object.assign(this, { session, say, tables: {}, queries: {} });
  }

  async read(queries, mostLowPoints) {
    for (const [name, sql] of Object.entries(queries)) {
      this.say(`Computing ${name.replaceAll("_", " ")} …`);
      const select = name in TEXTS ? ` SELECT *, ${TEXTS[name]}` : "";
      const lowest = name === "silhouette_samples" ? ` ${LOWEST}${mostLowPoints}` : "";
      this.tables[name] = await this.session.query(`${sql}${select}${lowest}`);
      this.queries[name] = sql;
    }
  }

  rows(name) {
    return asRecords(this.tables[name]);
  }
}
