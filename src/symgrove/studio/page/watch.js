// A run: what happens while it goes on, and what it has found.
import { against, errorsOverTime, figure, front } from "./charts.js";
import { GOALS, STATES, duration, element, formula, heading, request, say, send, shown, trouble } from "./dom.js";
import { lookAndTake, titleOf, verdict } from "./result.js";

const BETWEEN_SAID = 15000, MOST_POINTS = 1500, BETWEEN_DRAWN = 180;  // milliseconds; points of a line
const BETWEEN_TICKS = 500, LONG_START = 5;  // milliseconds, seconds
const ENDS = {
  exact: "nothing is left to explain", noise: "what is left cannot be told from noise", everything: "everything has been tried",
  time: "the time is up", max_time: "the time is up", interrupted: "", generations: "all generations are done",
  strength: "more generations would predict worse", early_stopping: "rows held out were predicted no better",
};
export const yLabelOf = (event) => event ? `training ${event.of}` : "";

export const frontLabelOf = (run) => run.settings.task === "classification" ? "training log loss" : "training RMSE";

// Follows the events of a run, also when the tab was hidden or the server was away; asks for the run again at its end.
export class Follower {
  constructor(run, changed) {
    Object.assign(this, { run, changed, errors: [], latest: null, best: null, begun: null, beat: null, queued: null, step: "", last: "", source: null });
    this.visible = () => document.hidden ? this.close() : this.open();
    document.addEventListener("visibilitychange", this.visible);
    this.open();
  }
  open() {
    if (this.source || (this.isOver && this.run.state !== "running")) return;
    this.source = new EventSource(`api/runs/${this.run.id}/events${this.last ? `?after=${this.last}` : ""}`);
    this.source.onopen = () => { this.isLost = false; this.soon(); };
    this.source.onerror = () => { this.isLost = true; this.soon(); };
    this.source.onmessage = (event) => { this.last = event.lastEventId; this.take(JSON.parse(event.data)); };
    this.source.addEventListener("over", () => { this.isOver = true; this.isLost = false; this.shut(); this.refresh(); });
  }
  take(event) {
    if (event.kind === "errors") {
      const [best, low, median, high] = event.values;
      this.errors.push([event.seconds, best, low, median, high]);
      if (this.errors.length > MOST_POINTS) this.errors = this.errors.filter((_, i) => i % 2 === 0 || i === this.errors.length - 1);
      this.latest = event;
    }
    if (event.kind === "best") this.best = event;
    if (event.kind === "begin") this.begun = event;
    if (event.kind === "queued") this.queued = event.at;
    if (["errors", "best", "end"].includes(event.kind) || (event.kind === "beat" && event.what)) this.queued = null;
    if (event.kind === "step" || event.kind === "queued") this.step = event.what ?? "starting";
    if (event.kind === "errors" || (event.kind === "beat" && event.what)) this.step = event.what;
    if (event.kind === "end") this.refresh();
    if (event.seconds !== undefined) this.beat = event;
    this.soon();
  }
  // Seconds since a run was asked for that has not found anything.
  waiting() { return this.queued !== null && this.run.state === "running" ? Math.max(0, Date.now() / 1000 - this.queued) : null; }
  soon() {
    if (this.isLeft) return;
    if (this.waiting() !== null) this.ticking ??= setTimeout(() => { this.ticking = null; this.soon(); }, BETWEEN_TICKS);
    this.drawing ??= setTimeout(() => { this.drawing = null; this.changed(this); }, BETWEEN_DRAWN);
  }
  async refresh() {
    let run;
    try { run = await request(`api/runs/${this.run.id}`); } catch { return; }
    // What says the same is the same, so that nothing is drawn anew under a person's hands.
    if (JSON.stringify(run.result) === JSON.stringify(this.run.result)) run.result = this.run.result;
    this.run = run;
    if (this.run.state === "running" && this.isOver) { this.isOver = false; this.open(); }
    this.soon();
  }
  front() {
    const done = this.run.state !== "running" && this.run.result?.front?.length ? this.run.result.front : null;
    return (done ?? this.best?.front ?? []).map((p) => ({ ...p, isChosen: Boolean(p.is_chosen) }));
  }
  shut() { this.source?.close(); this.source = null; }
  close() { this.shut(); }
  end() { document.removeEventListener("visibilitychange", this.visible); clearTimeout(this.drawing); clearTimeout(this.ticking); this.isLeft = true; this.shut(); }
}

const leftInWords = (left) => {
  if (!left) return "";
  const [expected, least, most] = left;
  if (least === most) return `, at most ${duration(Math.max(most, 1))} left`;  // nobody knows but when the time is up
  return most < 2 * least + 1 ? `, about ${duration(Math.max(expected, 1))} left` : `, ${duration(Math.max(least, 1))} to ${duration(most)} left`;
};

const progress = (own) => {
  const { run, beat, latest } = own;
  const seconds = beat?.seconds ?? 0;
  if (run.state !== "running") {
    const why = run.has_model ? run.message || ENDS[run.result.stopped_by] || "" : "";  // without one, the first lines say it
    return `${STATES[run.state]}${why ? `: ${why}` : ""}${seconds ? ` (${duration(seconds)})` : ""}`;
  }
  if (own.isLost) return "The studio does not answer. Runs go on without it: start `symgrove studio` again, and open the address that it prints.";
  const waiting = own.waiting();
  if (waiting !== null) return `${own.step || "starting"}, ${duration(waiting)}${waiting > LONG_START ? "; the first fit after an install compiles for about half a minute, once" : ""}`;
  return `${own.step || "starting"}, ${seconds < 90 ? `${seconds.toFixed(1)} s` : duration(seconds)}${leftInWords(own.step === latest?.what ? latest?.left : null)}`;
};

// Which formula of a front predicts: the rule of choose="auto".
const ruleOf = (stoppedBy) => stoppedBy === "exact" || stoppedBy === "noise"
  ? "as the search ended with a law, it is the one that describes the data in the fewest bits, of those within two standard errors of the lowest error on the rows held out."
  : "as the search ended without a law, it is the one with the best balance of training error, error on the rows held out, and size; or the smallest, if that is within two standard errors of the best.";

const formulaTable = (points, label, run) => {
  const hasHeldOut = points.some((p) => p.held_out_error !== undefined && p.held_out_error !== null);
  const head = ["size", label, ...(hasHeldOut ? ["on rows held out"] : [])].map((text) => element("th", { scope: "col", textContent: text }));
  const rows = points.map((p) => element("tr", { className: p.isChosen ? "own" : "" },
    element("th", { scope: "row", textContent: `${p.size}${p.isChosen ? " *" : ""}`, "data-word": "size" }), element("td", { textContent: shown(p.error), "data-word": "error" }),
    hasHeldOut ? element("td", { textContent: shown(p.held_out_error), "data-word": "held out" }) : null, element("td", { className: "text" }, formula(p))));
  const note = run.state !== "running" && points.some((p) => p.isChosen) ? `* predicts: ${ruleOf(run.result?.stopped_by)}` : "";
  return element("div", { className: "wide", tabIndex: 0, role: "region", "aria-label": "formulas by size" },
    element("table", { className: "formulas-of" }, element("thead", {}, element("tr", {}, ...head, element("th", { scope: "col", className: "text", textContent: "formula" }))), element("tbody", {}, ...rows)),
    element("p", { className: "quiet", textContent: note }));
};

const WHAT_FRONT = {
  law: "the best formula of every size",
  grove: "sums of a few of the ensemble's terms that imitate it",
  "2segp": "members that are better than all smaller ones",
};

const STOPPING = "Stopping …";
// Stop stays where it is, with the focus, and does nothing more: who clicks twice does not give up.
const buttons = (own, messages, line) => {
  const place = element("div", { className: "buttons" });
  const stop = element("button", { type: "button", id: "stop" }), giveUp = element("button", { type: "button", id: "give-up" });
  let state = "", isAsking = false;
  const act = async (path, value) => {
    if (isAsking) return;
    isAsking = true;
    control.update();
    messages.replaceChildren();
    try { await send(`api/runs/${own.run.id}/${path}`, value); await own.refresh(); } catch (error) { messages.replaceChildren(trouble(error.message)); }
    isAsking = false;
    own.soon();
  };
  const disable = (button, isOff) => button.setAttribute("aria-disabled", String(isOff));  // `disabled` would take the focus away
  stop.addEventListener("click", () => { if (!own.run.is_stopping) act("stop"); });
  giveUp.addEventListener("click", () => { if (!own.run.is_given_up) act("stop", { give_up: true }); });
  const ended = () => {
    const made = [];
    if (own.run.can_go_on) {
      const time = element("select", { id: "more" }, ...[[10, "10 s"], [60, "1 min"], [300, "5 min"], [1800, "30 min"]].map(([v, t]) => element("option", { value: v, textContent: t, selected: v === own.run.settings.seconds })));
      time.setAttribute("aria-label", "how much longer");
      const on = element("button", { type: "button", id: "continue", textContent: own.run.settings.goal === "law" ? "Search again for" : "Continue for" });
      on.addEventListener("click", () => { own.isOver = true; act("continue", { seconds: Number(time.value) }); });
      made.push(on, time);
    }
    made.push(element("a", { href: `#/table/${own.run.settings.table}`, textContent: "Another run on this table" }));
    return made;
  };
  const control = { place, update: () => {
    const { run } = own, isRunning = run.state === "running", hasFocus = place.contains(document.activeElement);
    if (isRunning) {
      stop.textContent = run.is_stopping || isAsking ? STOPPING : "Stop";
      disable(stop, run.is_stopping || isAsking);
      giveUp.textContent = run.is_given_up ? "Giving up …" : own.step === "one formula" ? "Leave the one formula out" : "Give up, without a model";
      disable(giveUp, run.is_given_up || isAsking);
      giveUp.hidden = !run.is_stopping;
    }
    const now = `${isRunning} ${run.can_go_on}`;
    if (now === state) return;
    state = now;
    place.replaceChildren(...(isRunning ? [stop, giveUp] : ended()));
    if (hasFocus) line.focus();
  } };
  return control;
};

export const watchView = async (id) => {
  const run = await request(`api/runs/${id}`);
  const line = element("p", { id: "progress", className: "quiet", tabIndex: -1 }), messages = element("div"), first = element("div", { id: "verdict" });
  const notes = element("details", { hidden: true }, element("summary", { textContent: "How the table was read" }));
  const isSearch = run.settings.goal === "law";
  const errors = figure("Error over time", isSearch ? "of the formulas of every size: lowest and quartiles" : "of the members: lowest and quartiles");
  const fronts = figure("Size against error", WHAT_FRONT[run.settings.goal]);
  const fits = figure("The best so far against the data", "up to 300 rows of the fit");
  const table = element("section", {}), after = element("div");
  let shownBest = null, shownResult = null, saidAt = 0, shownState = "";
  const update = (own) => {
    line.textContent = progress(own);
    control.update();
    const label = yLabelOf(own.latest);
    errors.draw(errorsOverTime([{ name: "lowest", kind: "first", points: own.errors }], label || "error"));
    const points = own.front();
    if (own.best !== shownBest || own.run.result !== shownResult) {
      const isOver = own.run.state !== "running";
      fronts.draw(front([{ name: "formulas", kind: "first", points }], frontLabelOf(run)));
      if (own.best) fits.draw(against(own.best.said, own.begun?.classes));
      fronts.made.hidden = isOver && !points.length;
      const title = !isOver ? "Formulas so far" : isSearch ? "Formulas of every size" : "Formulas";
      if (isOver || !table.contains(document.activeElement)) table.replaceChildren(element("h2", { textContent: title }), points.length ? formulaTable(points, "training error", own.run) : element("p", { className: "quiet", textContent: "Of several classes, each has formulas of its own; the report shows them." }));
    }
    if (own.run.state !== shownState || own.run.result !== shownResult || (own.run.state === "running" && own.best !== shownBest)) {
      first.replaceChildren(...verdict(own.run, own.latest, points));
    }
    if (own.run.state !== shownState || own.run.result !== shownResult) after.replaceChildren(...(own.run.state !== "running" && own.run.has_model ? lookAndTake(own.run) : []));
    const told = own.begun?.notes ?? [];
    notes.hidden = !told.length;
    if (told.length && !notes.querySelector("li")) notes.append(element("ul", {}, ...told.map((text) => element("li", { textContent: text }))));
    if (own.run.state !== shownState || Date.now() - saidAt > BETWEEN_SAID) {
      saidAt = Date.now();
      say(own.run.state === "running" ? `${line.textContent}. Error ${shown(own.latest?.values[0])}.` : line.textContent);
    }
    [shownBest, shownResult, shownState] = [own.best, own.run.result, own.run.state];
  };
  const own = new Follower(run, update);
  const control = buttons(own, messages, line);
  update(own);
  const about = `${run.table_name}, ${run.settings.features.length} columns, ${GOALS[run.settings.goal].toLowerCase()}, at most ${duration(run.settings.seconds)}`;
  return {
    parts: [heading(titleOf(run)), element("p", { className: "quiet", textContent: about }), first, element("div", { className: "control-line" }, line, control.place), messages, notes,
      element("div", { className: "plots three" }, errors.made, fronts.made, fits.made), table, after],
    title: titleOf(run), leave: () => own.end(),
  };
};
