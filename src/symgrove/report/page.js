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
  for (const button of document.querySelectorAll("button.all")) {
    button.addEventListener("click", () => {
      for (const item of button.closest("section").querySelectorAll(".later")) item.classList.remove("later");
      button.remove();
    });
  }

  // What if: the exported JavaScript predicts from the values of the controls.
  if (byId("what-if-data") === null) return;
  const setting = JSON.parse(byId("what-if-data").textContent);
  const row = Array.from(setting.start);
  const shown = (value) => {
    if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "–";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e15)) return value.toExponential(3).replaceAll("-", "−");
    return value.toLocaleString("en-US", { maximumSignificantDigits: 5 }).replace("-", "−");
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
    inputs.push((values) => set(values[control.feature]));
    return element("div", { className: "control" }, element("label", { htmlFor: slider.id, textContent: control.name }), field, slider);
  };
  const choiceControl = (control, i) => {
    const options = control.options.map(([text], k) => element("option", { value: k, textContent: text }));
    const select = element("select", { id: `control-${i}` }, ...options);
    select.addEventListener("input", () => { row[control.feature] = control.options[Number(select.value)][1]; answer(); });
    inputs.push((values) => {
      row[control.feature] = values[control.feature];
      select.value = control.options.findIndex(([, value]) => value === values[control.feature]);
    });
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

  let model = null, parts = null, waiting = null;
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
    clearTimeout(waiting);
    waiting = setTimeout(explain, 100);  // sliders move often
  };

  // Why this prediction: bars for the columns, the largest contributions first.
  const valueOf = (control) => {
    const value = row[control.feature];
    if (value === null || value === undefined) return "missing";
    if (control.is_date) return new Date(value * 864e5).toISOString().slice(0, 10);
    return typeof value === "number" ? shown(value) : control.options[control.options.findIndex((o) => o[1] === value)][0];
  };
  const explain = () => {
    const place = model.predictProba ? model.classes.indexOf(model.predict(row)) : null;
    const found = why(model, place, parts, setting, row);
    const write = (value) => place === null ? shown(value) : `${(100 * value).toFixed(1).replace("-", "−")} %`;
    const signed = (value) => value > 0 ? `+${write(value)}` : write(value);
    const sorted = setting.controls.map((control) => ({ control, share: found.contributions[control.feature] }))
      .filter(({ share }) => share !== 0).sort((a, b) => Math.abs(b.share) - Math.abs(a.share));
    const shares = sorted.slice(0, setting.n_shown).map(({ control, share }) => [`${control.name}: ${valueOf(control)}`, share]);
    if (sorted.length > shares.length) {
      shares.push(["all others", sorted.slice(shares.length).reduce((sum, { share }) => sum + share, 0)]);
    }
    const widest = Math.max(...shares.map(([, share]) => Math.abs(share)), Number.MIN_VALUE);
    const lines = shares.map(([text, share]) => element("div", { className: "share" },
      element("span", { textContent: text }), element("span", { className: "number", textContent: signed(share) }),
      element("div", { className: "track" },
        element("div", { className: share > 0 ? "up" : "down", style: `width: ${50 * Math.abs(share) / widest}%` }))));
    const what = place === null ? "prediction" : `probability of ${model.classes[place]}`;
    const text = `The mean ${what} for ${setting.beside.length} rows of the data, from low to high, is ${write(found.baseline)}. `
      + "What is different here adds:";
    const rule = found.isExact ? "Shapley values, exact." : "Shapley values: they add up exactly, how they are shared out is estimated from some orders of the columns.";
    byId("why").replaceChildren(
      element("h3", { textContent: "Why this prediction" }), element("p", { className: "quiet", textContent: text }), ...lines,
      element("p", { className: "quiet", textContent: `Together: ${write(place === null ? model.predict(row) : model.predictProba(row)[place])}. ${rule}` }));
    Object.assign(byId("why").dataset, { baseline: found.baseline, contributions: JSON.stringify(found.contributions) });
  };
  const load = (values) => { for (const set of inputs) set(values); answer(); };
  const number = byId("row-number"), truth = byId("truth");
  number.addEventListener("input", () => {
    const place = number.valueAsNumber - 1;
    truth.textContent = "";
    if (setting.rows[place] === undefined) return;
    truth.textContent = `There, ${setting.target} is ${setting.truths[place]}.`;
    load(setting.rows[place]);
  });
  const leave = () => { number.value = ""; truth.textContent = ""; };  // it is no row of the data any more
  place.addEventListener("input", leave);
  byId("reset").addEventListener("click", () => { leave(); load(setting.start); });
  load(setting.start);
  Promise.all([unpack("javascript"), unpack("parts")]).then(([code, script]) => {
    model = new Function(`${code}\nreturn symgroveModel;`)();
    parts = script ? new Function(script)() : null;
    answer();
  });
})();
