// The page: which view, and the theme.
import { Refused, element, heading, say, trouble } from "./dom.js";
import { compareView } from "./compare.js";
import { dataView } from "./data.js";
import { homeView } from "./home.js";
import { watchView } from "./watch.js";

const root = document.documentElement;
const remembered = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
document.getElementById("theme").addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* it lasts as long as the page */ }
  window.dispatchEvent(new CustomEvent("theme"));
});

const VIEWS = [
  [/^#?\/?$/, homeView],
  [/^#\/table\/([\w-]+)$/, dataView],
  [/^#\/run\/([\w-]+)$/, watchView],
  [/^#\/compare\/([\w-]+)\/([\w-]+)$/, compareView],
];
const main = document.getElementById("main");
let leave = () => {}, number = 0;
const show = async () => {
  const own = ++number;
  leave();
  leave = () => {};
  main.replaceChildren(element("p", { className: "quiet", textContent: "Loading …" }));
  const [parts, view] = VIEWS.map(([form, made]) => [location.hash.match(form), made]).find(([found]) => found) ?? [[], homeView];
  try {
    const made = await view(...parts.slice(1));
    if (own !== number) { made.leave?.(); return; }
    leave = made.leave ?? leave;
    main.replaceChildren(...made.parts);
    document.title = `${made.title} – symgrove studio`;
    if (made.where) document.getElementById("where").textContent = made.where;
    if (own > 1) main.focus();
    scrollTo(0, 0);
    made.entered?.();
    say(made.title);
  } catch (error) {
    if (!(error instanceof Refused)) console.error(error);
    if (own === number) main.replaceChildren(heading("This cannot be shown"), trouble(error instanceof Refused ? error.message : "Something in this page is wrong; the console says what."));
  }
};
addEventListener("hashchange", () => { if (location.hash !== "#main") show(); });
show();
