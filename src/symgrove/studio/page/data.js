// A table: what its columns hold; what is to be predicted from what, with which goal, for how long.
import { bars } from "./charts.js";
import { count, element, heading, request, say, send, shown, trouble } from "./dom.js";

const KINDS = { number: "numbers", text: "categories", date: "dates", unusable: "cannot be used" };
const TASKS = { regression: "a number", classification: "a class" };
const GOALS = [
  ["law", "One formula to read", "A short law with few constants, and the best formula of every size. For numbers."],
  ["grove", "Most accurate ensemble", "Many sums of formulas together, with intervals; it is said in one formula too, where there is one."],
  ["2segp", "The paper's method", "A bagging ensemble of simple formulas, as 2SEGP evolves it."],
];
const TIMES = [[10, "10 seconds"], [60, "1 minute"], [300, "5 minutes"], [1800, "30 minutes"], [14400, "4 hours"]];
const FIRST_TIME = 60;

const range = (column) => {
  if (column.kind === "unusable") return column.trouble;
  if (column.kind === "text") return column.common.map(([text]) => text).join(", ") + (column.different > column.common.length ? ", …" : "");
  const day = (value) => new Date(value * 864e5).toISOString().slice(0, 10);
  const write = column.kind === "date" ? day : (value) => shown(value);
  return column.low === column.high ? `always ${write(column.low)}` : `${write(column.low)} to ${write(column.high)}, half below ${write(column.median)}`;
};

const whyNoTarget = ({ kind, different, tasks }) => {
  if (tasks.length || kind === "unusable") return "";
  if (different === 1) return "one value only: nothing to predict";
  return kind === "date" ? "dates cannot be predicted" : "too many different texts to predict";
};

const columnRow = (column, k, changed) => {
  const use = element("input", { type: "checkbox", id: `use-${k}`, checked: Boolean(column.is_feature), disabled: column.kind === "unusable" });
  const target = element("input", { type: "radio", name: "target", id: `target-${k}`, disabled: !column.tasks.length });
  use.setAttribute("aria-label", `use ${column.name} as a feature`);
  const whyNot = whyNoTarget(column);
  target.setAttribute("aria-label", `predict ${column.name}${whyNot ? ` (${whyNot})` : ""}`);
  target.title = whyNot;
  const asCategory = element("input", { type: "checkbox", id: `category-${k}`, checked: column.kind === "text" });
  const mayBe = column.kind === "number" && column.is_feature && column.is_whole && column.different <= 50;
  const category = mayBe ? element("label", { className: "quiet" }, asCategory, " codes, not amounts") : null;
  for (const input of [use, target, asCategory]) input.addEventListener("change", changed);
  const missing = column.missing && column.kind !== "unusable" ? `, ${count(column.missing)} missing` : "";
  const made = element("tr", {},
    element("td", { className: "pick", "data-word": "predict" }, target),
    element("td", { className: "pick", "data-word": "use" }, use),
    element("th", { scope: "row", className: "name" }, element("label", { htmlFor: use.id, textContent: column.name }), category),
    element("td", { className: "text kind", textContent: KINDS[column.kind] + missing }),
    element("td", { className: "text distribution" }, element("div", {}, column.bars ? bars(column.bars, `distribution of ${column.name}`) : "", element("span", { className: "quiet range", textContent: [whyNot, range(column)].filter(Boolean).join("; ") }))));
  return { column, use, target, asCategory, made };
};

const choices = (name, legend, given, first) => {
  const inputs = given.map(([value, title, text]) => {
    const input = element("input", { type: "radio", name, value, checked: value === first });
    const label = element("label", { className: "choice" }, input, element("span", {}, element("strong", { textContent: title }), text ? element("span", { className: "quiet", textContent: text }) : ""));
    return { input, label };
  });
  const made = element("fieldset", { className: name }, element("legend", { textContent: legend }), ...inputs.map((own) => own.label));
  return { made, inputs: inputs.map((own) => own.input), value: () => inputs.find((own) => own.input.checked)?.input.value };
};

const ready = (table) => {
  const rows = table.columns.map((column, k) => columnRow(column, k, () => changed()));
  const start = element("button", { type: "submit", className: "main", textContent: "Start" });
  const summary = element("p", { className: "quiet", id: "chosen" });
  const messages = element("div");
  const tasks = choices("task", "What is it?", Object.entries(TASKS), "");
  const goals = choices("goal", "What do you want?", GOALS, "law");
  const whyNoLaw = element("span", { className: "quiet", id: "why-no-law" });
  goals.inputs[0].nextSibling.append(whyNoLaw);
  goals.inputs[0].setAttribute("aria-describedby", whyNoLaw.id);
  const times = choices("time", "For how long, at most?", TIMES, FIRST_TIME);
  times.inputs.forEach((input) => { input.checked = Number(input.value) === FIRST_TIME; });
  let before = null;
  const changed = () => {
    const chosen = rows.find((row) => row.target.checked);
    if (chosen !== before) {
      if (before && before.column.is_feature) before.use.checked = true;
      before = chosen;
      const first = chosen?.column.tasks[0];
      tasks.inputs.forEach((input) => { input.disabled = !chosen?.column.tasks.includes(input.value); input.checked = input.value === first; });
    }
    for (const row of rows) {
      row.use.disabled = row === chosen || row.column.kind === "unusable";
      if (row === chosen) row.use.checked = false;
      row.made.classList.toggle("own", row === chosen);
    }
    const isClasses = tasks.value() === "classification";
    const law = goals.inputs[0];
    law.disabled = isClasses;
    whyNoLaw.textContent = isClasses ? " Off: it predicts a number, and a class is to be predicted." : "";
    if (isClasses && law.checked) goals.inputs[1].checked = true;
    const features = rows.filter((row) => row.use.checked);
    start.disabled = !chosen || !features.length;
    summary.textContent = chosen ? `Predicts ${TASKS[tasks.value()]}, ${chosen.column.name}, from ${features.length} column${features.length === 1 ? "" : "s"}.` : "Choose what is to be predicted.";
  };
  tasks.inputs.forEach((input) => input.addEventListener("change", changed));
  const suggested = rows.find((row) => row.column.name === table.target) ?? rows.find((row) => row.column.tasks.length);
  if (suggested) suggested.target.checked = true;
  changed();
  const keep = element("input", { type: "checkbox", id: "keep" });
  times.made.append(element("label", { className: "choice later-choice" }, keep, element("span", {}, element("strong", { textContent: "Keep a fifth of the rows out" }), element("span", { className: "quiet", textContent: "They judge the model, and make its intervals hold." }))));
  const all = element("button", { type: "button", textContent: "none or all" });
  all.addEventListener("click", () => {
    const usable = rows.filter((row) => !row.use.disabled), isAny = usable.some((row) => row.use.checked);
    usable.forEach((row) => { row.use.checked = !isAny; });
    changed();
  });
  const form = element("form", {},
    element("section", {}, element("h2", { textContent: "What from what?" }),
      element("div", { className: "wide columns-of", tabIndex: 0, role: "region", "aria-label": "columns" }, element("table", {},
        element("thead", {}, element("tr", {}, element("th", { scope: "col", className: "pick", textContent: "predict" }),
          element("th", { scope: "col", className: "pick" }, element("span", { textContent: "use " }), all),
          ...["column", "holds", "distribution"].map((text) => element("th", { scope: "col", className: "text", textContent: text })))),
        element("tbody", {}, ...rows.map((row) => row.made))))),
    element("section", { className: "settings" }, tasks.made, goals.made, times.made),
    element("div", { className: "start" }, start, summary), messages);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    start.disabled = true;
    messages.replaceChildren();
    const used = rows.filter((row) => row.use.checked);
    try {
      const { id } = await send("api/runs", {
        table: table.id, target: rows.find((row) => row.target.checked).column.name,
        features: used.map((row) => row.column.name),
        categorical: used.filter((row) => row.asCategory.checked).map((row) => row.column.name),
        task: tasks.value(), goal: goals.value(), seconds: Number(times.value()), keeps_out: keep.checked,
      });
      location.hash = `#/run/${id}`;
    } catch (error) {
      messages.replaceChildren(trouble(error.message));
      start.disabled = false;
    }
  });
  return { form, showTarget: () => { const box = form.querySelector(".columns-of"); box.scrollTop = Math.max(0, (suggested?.made.offsetTop ?? 0) - box.clientHeight / 2); } };
};

export const dataView = async (id) => {
  let table = await request(`api/tables/${id}`);
  const place = element("div");
  let timer = null, showTarget = () => {};
  const show = () => {
    if (table.state === "reading") {
      place.replaceChildren(element("p", { className: "quiet", textContent: "The table is being read …" }));
      timer = setTimeout(async () => {
        try { table = await request(`api/tables/${id}`); show(); } catch (error) { place.replaceChildren(trouble(error.message)); }
      }, 200);
    } else if (table.state === "failed") {
      place.replaceChildren(trouble(table.message), element("p", {}, element("a", { href: "#/", textContent: "Choose another table" })));
    } else {
      const about = `${count(table.rows)} rows, ${count(table.columns.length)} columns`;
      const made = ready(table);
      showTarget = made.showTarget;
      place.replaceChildren(element("p", { className: "quiet", textContent: [about, ...table.notes].join("; ") }), made.form);
      if (place.isConnected) showTarget();
      say(`${table.name}: ${about}`);
    }
  };
  show();
  return { parts: [heading(table.name), place], title: table.name, entered: () => showTarget(), leave: () => clearTimeout(timer) };
};
