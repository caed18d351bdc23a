/** Statements: a text of SQL, split at its semicolons. */

const COMMENT = String.raw`--[^\n]*|/\*[\s\S]*?\*/`;
const QUOTED = String.raw`'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$`;
const PIECES = new RegExp(`${QUOTED}|${COMMENT}|;`, "g");
const COMMENTS = new RegExp(`${QUOTED}|${COMMENT}`, "g");
/** What begins a statement that only prepares others. */
const SETUP = /^(?:CREATE|INSERT|UPDATE|DELETE|DROP|ALTER|SET|RESET|PREPARE|ATTACH|USE|COMMENT)\b/i;

/** Return the text of a statement without its comments. */
function withoutComments(statement) {
  const isComment = (piece) => piece.startsWith("--") || piece.startsWith("/*");
  return statement.replace(COMMENTS, (piece) => (isComment(piece) ? " " : piece)).trim();
}

/** Return the statements of a text of SQL, without those that are empty. */
export function splitStatements(text) {
  const ends = [...text.matchAll(PIECES)].filter(([piece]) => piece === ";");
  const places = [0, ...ends.map((end) => end.index + 1), text.length];
  return places
    .slice(1)
    .map((end, i) => text.slice(places[i], end).trim())
    .filter((statement) => withoutComments(statement).replace(/;$/, "") !== "");
}

/** Return whether a statement prepares others, as CREATE does, and has no rows to show. */
export function isSetup(statement) {
  return SETUP.test(withoutComments(statement));
}

export function quoteName(name) {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteText(text) {
  return `'${text.replaceAll("'", "''")}'`;
}
