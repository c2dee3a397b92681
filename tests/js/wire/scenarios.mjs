// What a frontend may do, played with the official client against the reference app. Each scenario names
// what it does with `r.does(..)`; what follows until the next is the server's answer. Every page and caller
// uses names, sessions and threads of its own, so scenarios may run on a server that is in use.
import "./scenarios/connect.mjs";
import "./scenarios/resume.mjs";
import "./scenarios/turns.mjs";
import "./scenarios/ask.mjs";
import "./scenarios/forms.mjs";
import "./scenarios/during.mjs";
import "./scenarios/bad-input.mjs";
import "./scenarios/http.mjs";
import "./scenarios/surface.mjs";

export { scenarios } from "./scenarios/common.mjs";
