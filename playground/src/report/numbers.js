/** Numbers, as polars_clustereval/page/numbers.py shows them. */

/** Return a number with four significant digits, whole ones in full; – for none. */
export function showNumber(value, isInteger = false) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (isInteger || size >= 1e4) return size < 1e15 ? showCount(value) : scientific(value);
  return size >= 1e-3 || value === 0 ? String(Number(value.toPrecision(4))) : scientific(value);
}

/** Return a whole number with commas. */
export function showCount(value) {
  return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

function scientific(value) {
  return value.toExponential(3).replace(/e([+-])(\d)$/, "e$10$2");
}

/** Return a number and the word for what it counts. */
export function count(n, word) {
  return `${showCount(n)} ${word}${n === 1 ? "" : "s"}`;
}

/** Return a share in per cent, in the text of the findings. */
export async function percent(session, share) {
  const { rows } = await session.query(`SELECT clustereval._percent_as_text(${share}::DOUBLE)`);
  return rows[0][0];
}
