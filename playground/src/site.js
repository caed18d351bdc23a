/** The script of the site: Run buttons, and on its page the playground, which is loaded later. */

import { addRunButtons } from "./blocks.js";

addRunButtons();
const place = document.getElementById("ce-playground");
if (place !== null) import("./playground.js").then(({ drawPlayground }) => drawPlayground(place));
