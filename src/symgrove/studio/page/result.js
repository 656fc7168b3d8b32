// What a run has found: one formula first, then a look at the model, then what can be taken away.
import { GOALS, Refused, element, formula, request, shown, trouble } from "./dom.js";

export const titleOf = (run) => `${run.settings.target}: ${GOALS[run.settings.goal].toLowerCase()}`;

const ALMOST_ONE = 0.995;
const copier = (label, text) => {
  const button = element("button", { type: "button", className: "copy", textContent: label });
  button.addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(text); button.textContent = "copied"; } catch { button.textContent = "the browser does not allow that"; }
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  return button;
};

// The first lines: of a finished run what it is in one formula, of others the best formula so far.
export const verdict = (run, latest, points = []) => {
  const { result } = run;
  if (run.state === "running") {
    const best = points.find((p) => p.is_best) ?? points.at(-1);
    if (!best) return [element("p", { className: "quiet", textContent: latest ? "" : "The first formula comes in a few seconds." })];
    return [element("p", { className: "lead", textContent: "Best formula so far" }), formula(best, `${run.settings.target} ≈ `),
      element("p", { className: "quiet", textContent: `${best.size} nodes, training error ${shown(best.error)}` })];
  }
  if (!result) return [trouble(run.state === "failed" ? `This run failed: ${run.message}` : run.state === "stopped" ? "The run was stopped before there was a model." : `There is no model: ${run.message}.`)];
  const one = result.in_one_formula;
  const parts = [element("p", { className: "lead", textContent: one ? "In one formula" : `In one formula: ${result.why_no_formula}.` })];
  if (one) parts.push(formula(one, `${one.left} = `), element("p", { className: "quiet" }, `${one.scores} `, copier("copy", one.text), " ", copier("copy LaTeX", one.latex)));
  if (result.score && run.settings.goal !== "law") parts.push(element("p", {}, `The ensemble (${result.parts}): `, element("strong", { textContent: `${result.score.measure} ${scoreOf(result.score.value)}` }), ` on ${result.score.on}.`));
  return parts;
};

// With as many digits as the score of the one formula beside it.
const scoreOf = (value) => value >= ALMOST_ONE ? value.toFixed(4) : value.toFixed(2).replace("-", "−");

const importances = (result) => {
  const most = Math.max(...result.importances.map(([, value]) => value), 1e-9);
  const lines = result.importances.filter(([, value]) => value > 0).slice(0, 10).map(([name, value]) => {
    const part = element("div", { className: "part" });
    part.style.width = `${100 * value / most}%`;
    return element("div", { className: "share" }, element("span", { textContent: name }), element("span", { className: "number", textContent: value.toFixed(3) }), element("div", { className: "track plain" }, part));
  });
  return element("section", {}, element("h2", { textContent: "What matters" }), ...lines);
};

const theme = () => document.documentElement.dataset.theme ?? "";
const look = (run) => {
  const place = element("div");
  const open = element("button", { type: "button", id: "look", className: "main", textContent: "Look at the model" });
  open.addEventListener("click", async () => {
    open.disabled = true;
    place.replaceChildren(element("p", { className: "quiet", role: "status", textContent: "The report is being made, beside other models; that takes some seconds …" }));
    try {
      const answer = await fetch(`api/runs/${run.id}/report?theme=${theme()}`);
      if (!answer.ok) throw new Refused((await answer.json()).error);
      await answer.body?.cancel();
      const frame = element("iframe", { title: "Report: what if, dependence, importances, residuals", className: "report", src: `api/runs/${run.id}/report?theme=${theme()}` });
      place.replaceChildren(element("p", {}, element("a", { href: `api/runs/${run.id}/report`, target: "_blank", rel: "noopener", textContent: "In a tab of its own" })), frame);
    } catch (error) {
      place.replaceChildren(trouble(error instanceof Refused ? error.message : "The studio does not answer."));
    }
    open.disabled = false;
  });
  return element("section", {}, element("h2", { textContent: "Look" }),
    element("p", { className: "quiet", textContent: "Scores beside other models, sliders that ask what if, intervals, dependence, importances, residuals." }), open, place);
};

const download = (path, name, label, messages) => {
  const button = element("button", { type: "button", textContent: label });
  button.dataset.file = name;
  button.addEventListener("click", async () => {
    button.disabled = true;
    messages.replaceChildren(element("p", { className: "quiet", role: "status", textContent: `${name} is being made …` }));
    try {
      const answer = await fetch(path);
      if (!answer.ok) throw new Refused((await answer.json()).error);
      const place = URL.createObjectURL(await answer.blob());
      const link = element("a", { href: place, download: name });
      link.click();
      setTimeout(() => URL.revokeObjectURL(place), 60000);
      messages.replaceChildren(element("p", { className: "quiet", role: "status", textContent: `${name} is in your downloads.` }));
    } catch (error) {
      messages.replaceChildren(trouble(error instanceof Refused ? error.message : "The studio does not answer."));
    }
    button.disabled = false;
  });
  return button;
};

const FILES = { python: "model.py", javascript: "model.js", c: "model.c", sql: "model.sql", excel: "model.xlsx", onnx: "model.onnx", latex: "model.tex", text: "model.txt" };
const code = (run) => {
  const place = element("div"), show = element("button", { type: "button", id: "code-button", textContent: "Show the code" });
  const block = (title, text) => element("div", {}, element("h3", {}, `${title} `, copier("copy", text)), element("pre", { tabIndex: 0, textContent: text }));
  show.addEventListener("click", async () => {
    try {
      const found = await request(`api/runs/${run.id}/code`);
      place.replaceChildren(block("Python", found.python), ...(found.command ? [block("Command line", found.command)] : []),
        element("p", { className: "quiet", textContent: "The same seed gives the same model; where the time ends a fit, it ends where this machine has come to." }));
    } catch (error) {
      place.replaceChildren(trouble(error.message));
    }
  });
  return [show, place];
};

// What lacks a package cannot be made: the button says so.
const lacking = (button, needed) => {
  button.disabled = true;
  button.title = `needs ${needed}, which is not installed`;
  return button;
};
const take = (run, exports) => {
  const lacks = Object.entries(run.missing).filter(([name]) => name in FILES);
  const messages = element("div", { id: "downloads" });
  const at = (path) => `api/runs/${run.id}/${path}`;
  return element("section", {}, element("h2", { textContent: "Take away" }),
    element("div", { className: "buttons" },
      download(at("model"), "model.json", "Model file", messages), download(at("report?download=1"), "report.html", "Report", messages),
      ...Object.entries(FILES).map(([name, file]) => {
        const button = download(at(`export/${name}`), file, exports[name], messages);
        return name in run.missing ? lacking(button, run.missing[name]) : button;
      })),
    lacks.length ? element("p", { className: "quiet", textContent: `${lacks.map(([name, needed]) => `${exports[name]} needs ${needed}`).join(", ")}, not installed here: pip install "symgrove[export]"` }) : null,
    messages, element("h3", { textContent: "The code that does the same" }), ...code(run));
};
const EXPORTS = { python: "Python (NumPy)", javascript: "JavaScript", c: "C", sql: "SQL", excel: "Excel", onnx: "ONNX", latex: "LaTeX", text: "Equations" };

export const lookAndTake = (run) => [
  importances(run.result), look(run), take(run, EXPORTS),
  ...(run.result.notes.length ? [element("section", {}, element("h2", { textContent: "Notes" }), element("ul", {}, ...run.result.notes.map((text) => element("li", { textContent: text }))))] : []),
];
