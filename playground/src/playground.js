/** The playground: a file is scored, or SQL is run on the example data. */

import { drawEditor } from "./editor.js";
import { drawScoring } from "./scoring.js";

/** Draw the playground in place of what its page says without it. */
export function drawPlayground(place) {
  place.replaceChildren(drawScoring(), drawEditor());
}
