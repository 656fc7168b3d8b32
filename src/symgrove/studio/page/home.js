// Where to begin: a file to drop, tables, and runs.
import { GOALS, STATES, duration, element, formula, heading, request, say, shown, trouble } from "./dom.js";

const size = (bytes) => `${Math.round(bytes / 1048576)} MB`;

const upload = async (file, limit, messages) => {
  messages.replaceChildren();
  if (file.size > limit) {
    messages.replaceChildren(trouble(`${file.name} is larger than ${size(limit)}; give it on the command line: symgrove studio FILE.`));
    return;
  }
  messages.replaceChildren(element("p", { className: "quiet", textContent: `Reading ${file.name} …` }));
  try {
    const { id } = await request(`api/tables?name=${encodeURIComponent(file.name)}`, "PUT", file);
    location.hash = `#/table/${id}`;
  } catch (error) {
    messages.replaceChildren(trouble(error.message));
  }
};

// What can be read here, and what could be with one package more.
const READ = [["parquet", "Parquet", ".parquet,.pq", "symgrove[parquet]"], ["excel", "Excel", ".xlsx", "symgrove[excel]"]];
const kindsRead = (missing) => {
  const [there, lacking] = [READ.filter(([kind]) => !(kind in missing)), READ.filter(([kind]) => kind in missing)];
  const names = ["CSV", "TSV", ...there.map(([, name]) => name)];
  return {
    accept: [".csv,.tsv,.tab", ...there.map(([, , endings]) => endings)].join(","),
    text: `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`,
    lacks: lacking.map(([, name, , extra]) => ` ${name} can be read after pip install "${extra}".`).join(""),
  };
};

const dropZone = (limit, missing) => {
  const { accept, text, lacks } = kindsRead(missing);
  const messages = element("div");
  const input = element("input", { type: "file", id: "file", className: "unseen", accept, tabIndex: -1 });
  input.setAttribute("aria-label", "A table");
  const button = element("button", { type: "button", className: "main", textContent: "Choose a table" });
  button.addEventListener("click", () => input.click());
  input.addEventListener("change", () => { if (input.files.length) upload(input.files[0], limit, messages); });
  const zone = element("div", { className: "drop", id: "drop" },
    element("p", {}, button, " or drop one here"),
    element("p", { className: "quiet", textContent: `${text}, up to ${size(limit)}, with names of columns in the first row. It stays on this machine.${lacks}` }), input);
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    if (event.dataTransfer.files.length) upload(event.dataTransfer.files[0], limit, messages);
  });
  return element("section", {}, zone, messages);
};

const removal = (path, what, place, messages) => {
  const button = element("button", { type: "button", textContent: "delete", className: "quiet" });
  button.setAttribute("aria-label", `delete ${what}`);
  button.addEventListener("click", async () => {
    if (button.textContent === "delete") {
      button.textContent = "really delete?";
      setTimeout(() => { button.textContent = "delete"; }, 4000);
      return;
    }
    try {
      await request(path, "DELETE");
      place.remove();
      say(`${what} is deleted`);
    } catch (error) {
      messages.replaceChildren(trouble(error.message));
    }
  });
  return button;
};

const tableLine = (table, messages) => {
  const line = element("li", { className: "entry" });
  const about = table.state === "ready" ? `${table.rows.toLocaleString("en-US")} rows` : table.state === "failed" ? table.message.split("\n")[0] : "being read";
  line.append(element("div", {}, element("a", { href: `#/table/${table.id}`, textContent: table.name }), element("p", { className: "quiet", textContent: about })));
  if (!table.is_used) line.append(removal(`api/tables/${table.id}`, table.name, line, messages));
  return line;
};

const runLine = (run, chosen, messages) => {
  const name = `${run.settings.target}: ${GOALS[run.settings.goal]}`;
  const line = element("li", { className: "entry" });
  const box = element("input", { type: "checkbox", value: run.id });
  box.setAttribute("aria-label", `compare ${name}, ${run.id}`);
  box.addEventListener("change", () => chosen(run.id, box.checked));
  const when = new Date(run.settings.at * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  const score = run.result?.score ? `, ${run.result.score.measure} ${shown(run.result.score.value, 3)}` : "";
  const about = element("div", { className: "grow" }, element("a", { href: `#/run/${run.id}`, textContent: name }),
    element("p", { className: "quiet", textContent: `${run.table_name}, ${when}, ${duration(run.settings.seconds)}: ${STATES[run.state]}${score}` }));
  const one = run.result?.in_one_formula;
  if (one) about.append(formula(one, `${one.left} = `));
  line.append(box, about);
  if (run.state !== "running") line.append(removal(`api/runs/${run.id}`, name, line, messages));
  return line;
};

export const homeView = async () => {
  const state = await request("api/state");
  const isThere = state.tables.some((table) => table.id === state.first);
  if (!location.hash && isThere) location.replace(`#/table/${state.first}`);  // the page has just been opened
  const messages = element("div");
  const chosen = new Set();
  const compare = element("button", { type: "button", textContent: "Compare two runs", disabled: true });
  compare.addEventListener("click", () => { location.hash = `#/compare/${[...chosen].join("/")}`; });
  const choose = (id, isChosen) => {
    if (isChosen) chosen.add(id); else chosen.delete(id);
    compare.disabled = chosen.size !== 2;
    compare.textContent = chosen.size === 2 ? "Compare them" : `Compare two runs (${chosen.size} ticked)`;
  };
  const parts = [heading("Watch formulas evolve"), dropZone(state.largest_upload, state.missing), messages];
  if (state.runs.length) {
    parts.push(element("section", {}, element("h2", { textContent: "Runs" }),
      element("ul", { className: "entries" }, ...state.runs.map((run) => runLine(run, choose, messages))), state.runs.length > 1 ? compare : null));
  }
  if (state.tables.length) {
    parts.push(element("section", {}, element("h2", { textContent: "Tables" }),
      element("ul", { className: "entries" }, ...state.tables.map((table) => tableLine(table, messages)))));
  }
  return { parts, title: "Begin", where: `symgrove ${state.version}; tables and runs are in ${state.folder}` };
};
