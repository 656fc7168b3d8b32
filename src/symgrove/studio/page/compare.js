// Two runs side by side.
import { errorsOverTime, figure, front } from "./charts.js";
import { element, heading, request } from "./dom.js";
import { Follower, frontLabelOf, yLabelOf } from "./watch.js";
import { titleOf, verdict } from "./result.js";

export const compareView = async (...ids) => {
  const runs = await Promise.all(ids.map((id) => request(`api/runs/${id}`)));
  const errors = figure("Error over time"), fronts = figure("Size against error");
  const cards = runs.map((run, k) => element("section", { className: `card ${k ? "second" : "first"}` }));
  const about = element("p", { className: "quiet" });
  const followers = [];
  const isSame = runs[0].settings.table === runs[1].settings.table && runs[0].settings.target === runs[1].settings.target;
  const draw = () => {
    const series = (points) => followers.map((own, k) => ({ name: titleOf(own.run), kind: k ? "second" : "first", points: points(own) }));
    const labels = [...new Set(followers.map((own) => yLabelOf(own.latest)).filter(Boolean))];
    errors.made.hidden = !isSame || labels.length > 1;
    fronts.made.hidden = !isSame || followers.every((own) => !own.front().length);
    errors.draw(errorsOverTime(series((own) => own.errors), labels[0] ?? "error"));
    fronts.draw(front(series((own) => own.front()), frontLabelOf(runs[0])));
    about.textContent = isSame ? "Errors in the charts are those on rows of the fit, scores those on rows left out." : "These runs are of other tables or targets: their errors are no two numbers of one kind, and are not drawn together.";
    followers.forEach((own, k) => {
      if (own.shownRun === own.run && own.shownBest === (own.run.state === "running" && own.best)) return;
      own.shownRun = own.run;
      own.shownBest = own.run.state === "running" && own.best;
      cards[k].replaceChildren(
        element("h2", {}, element("span", { className: "swatch" }), element("a", { href: `#/run/${own.run.id}`, textContent: titleOf(own.run) })),
        ...verdict(own.run, own.latest, own.front()));
    });
  };
  runs.forEach((run) => followers.push(new Follower(run, draw)));
  draw();
  return {
    parts: [heading("Two runs"), about, element("div", { className: "pair" }, ...cards), element("div", { className: "plots" }, errors.made, fronts.made)],
    title: "Two runs", leave: () => followers.forEach((own) => own.end()),
  };
};
