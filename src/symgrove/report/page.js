"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const root = document.documentElement;

  // Theme: what the system says, until the button says otherwise.
  byId("theme").addEventListener("click", () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  });

  // Exports are compressed; unpacked when they are asked for.
  const unpacked = {};
  const unpack = (name) => {
    unpacked[name] ??= (async () => {
      const bytes = Uint8Array.from(atob(byId(`export-${name}`).textContent), (c) => c.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      return new Response(stream).text();
    })();
    return unpacked[name];
  };
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  for (const button of document.querySelectorAll("button.copy")) {
    const label = button.textContent;
    button.addEventListener("click", async () => {
      await copy(button.dataset.export ? await unpack(button.dataset.export) : button.dataset.copy);
      button.textContent = "copied";
      setTimeout(() => { button.textContent = label; }, 1500);
    });
  }
  for (const button of document.querySelectorAll("button.view")) {
    button.addEventListener("click", async () => {
      const code = byId("code");
      const isShown = !code.hidden && code.dataset.name === button.dataset.export;
      code.hidden = isShown;
      code.dataset.name = button.dataset.export;
      code.textContent = isShown ? "" : await unpack(button.dataset.export);
    });
  }
  byId("all-formulas")?.addEventListener("click", (event) => {
    for (const item of document.querySelectorAll(".formulas .later")) item.classList.remove("later");
    event.target.remove();
  });

  // What if: the exported JavaScript predicts from the values of the controls.
  if (byId("what-if-data") === null) return;
  const setting = JSON.parse(byId("what-if-data").textContent);
  const row = Array.from(setting.start);
  const shown = (value) => {
    if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "–";
    return String(Number(value.toPrecision(5))).replace("-", "−");
  };
  const element = (kind, attributes, ...children) => {
    const made = Object.assign(document.createElement(kind), attributes);
    made.append(...children);
    return made;
  };
  const inputs = [];
  const numberControl = (control, i) => {
    const limits = { min: control.low, max: control.high, step: control.step };
    const slider = element("input", { type: "range", id: `control-${i}`, ...limits });
    const field = element("input", control.is_date ? { type: "date" } : { type: "number", step: "any" });
    const dayLength = 864e5;  // milliseconds; dates are days since 1970-01-01
    const written = (value) => control.is_date ? new Date(value * dayLength).toISOString().slice(0, 10) : value;
    const entered = () => control.is_date ? field.valueAsNumber / dayLength : field.valueAsNumber;
    field.setAttribute("aria-label", control.name);
    const set = (value) => {
      row[control.feature] = value;
      slider.value = value ?? control.fill;
      field.value = value === null ? "" : written(value);
    };
    slider.addEventListener("input", () => { row[control.feature] = slider.valueAsNumber; field.value = written(slider.valueAsNumber); answer(); });
    field.addEventListener("input", () => {  // an empty field is a missing value
      if (field.value === "" && !field.validity.badInput) { row[control.feature] = null; answer(); }
      if (Number.isFinite(entered())) { row[control.feature] = entered(); slider.value = entered(); answer(); }
    });
    inputs.push(() => set(control.value));
    return element("div", { className: "control" }, element("label", { htmlFor: slider.id, textContent: control.name }), field, slider);
  };
  const choiceControl = (control, i) => {
    const options = control.options.map(([text], k) => element("option", { value: k, textContent: text }));
    const select = element("select", { id: `control-${i}` }, ...options);
    const set = (value) => {
      row[control.feature] = control.options[value][1];
      select.value = value;
    };
    select.addEventListener("input", () => { set(Number(select.value)); answer(); });
    inputs.push(() => set(control.value));
    return element("div", { className: "control" }, element("label", { htmlFor: select.id, textContent: control.name }), select);
  };
  const place = byId("controls");
  setting.controls.forEach((control, i) => {
    const made = control.kind === "number" ? numberControl(control, i) : choiceControl(control, i);
    made.hidden = i >= setting.n_shown;
    place.append(made);
  });
  const more = byId("more");
  more.hidden = setting.controls.length <= setting.n_shown;
  more.addEventListener("click", () => {
    for (const control of place.children) control.hidden = false;
    more.hidden = true;
  });

  let model = null;
  const answer = () => {
    if (model === null) return;
    const out = byId("answer");
    if (model.predictProba) {
      const shares = model.predictProba(row);
      const lines = model.classes.map((label, k) => element("div", {},
        element("span", { textContent: `${label}: ${(100 * shares[k]).toFixed(1)} %` }),
        element("div", { className: "bar", style: `width: ${100 * shares[k]}%` })));
      out.replaceChildren(element("span", { className: "value", textContent: String(model.predict(row)) }), ...lines);
    } else if (model.predictInterval) {
      const found = model.predictInterval(row, setting.coverage);
      const percent = Number((100 * setting.coverage).toPrecision(6));
      out.replaceChildren(
        element("span", { className: "value", textContent: shown(found.prediction) }),
        element("span", { className: "quiet", textContent: ` ${percent} % interval: ${shown(found.lower)} to ${shown(found.upper)}` }));
      Object.assign(out.dataset, { lower: found.lower, upper: found.upper });
    } else {
      out.replaceChildren(element("span", { className: "value", textContent: shown(model.predict(row)) }));
    }
    out.dataset.prediction = model.predict(row);
  };
  const reset = () => { for (const set of inputs) set(); answer(); };
  byId("reset").addEventListener("click", reset);
  reset();
  unpack("javascript").then((code) => {
    model = new Function(`${code}\nreturn symgroveModel;`)();
    answer();
  });
})();
