// Three small charts. Each is drawn anew from all of its data; colours are those of the page.
import { drawn, element, shown } from "./dom.js";

const WIDTH = 520, HEIGHT = 320, LEFT = 76, RIGHT = 12, TOP = 12, BOTTOM = 42;
const SEVERAL_SCALES = 10, FEWEST_TICKS = 3;  // errors that differ by such a factor are drawn on a logarithmic scale

const LARGE = 150;  // nodes: with larger formulas, small ones would be on one spot

const step = (span) => {
  const rough = span / 4, power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough) ?? power * 10;
};
const linear = (low, high) => {
  if (!(high > low)) { const pad = Math.abs(low) * 0.05 || 1; low -= pad; high += pad; }
  const every = (by) => {
    const found = [];
    for (let k = Math.ceil(low / by - 1e-9); k * by <= high + by * 1e-9; k++) found.push(Number((k * by).toPrecision(12)));
    return found;
  };
  const coarse = every(step(high - low)), ticks = coarse.length >= FEWEST_TICKS ? coarse : every(step((high - low) / 2));
  return { at: (v) => (v - low) / (high - low), ticks };
};
const logarithmic = (low, high) => {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high)), each = Math.max(1, Math.ceil((last - first) / 5));
  const within = (digits) => {
    const found = [];
    for (let k = first; k <= last; k += each) found.push(...digits.map((digit) => Number((digit * 10 ** k).toPrecision(3))));
    return found.filter((t) => t >= low / 1.1 && t <= high * 1.1);
  };
  const ticks = [[1], [1, 3], [1, 2, 5]].map(within).find((own) => own.length >= FEWEST_TICKS) ?? within([1, 2, 3, 5, 7]);
  const [a, b] = [Math.log10(low), Math.log10(high)], pad = (b - a) * 0.04 || 0.1;
  return { at: (v) => (Math.log10(Math.max(v, 10 ** (a - pad))) - a + pad) / (b - a + 2 * pad), ticks };
};
const scale = (values, { fromZero = false, mayBeLog = false } = {}) => {
  const known = values.filter(Number.isFinite);
  if (!known.length) return linear(0, 1);
  let low = known.reduce((a, b) => Math.min(a, b)), high = known.reduce((a, b) => Math.max(a, b));
  if (mayBeLog && low > 0 && high > SEVERAL_SCALES * low) return logarithmic(low, high);
  if (fromZero) low = Math.min(0, low);
  const pad = (high - low) * 0.04;
  return linear(fromZero ? low : low - pad, high + pad);
};

const frame = (xs, ys, xLabel, yLabel, label) => {
  const at = { x: (v) => LEFT + (WIDTH - LEFT - RIGHT) * xs.at(v), y: (v) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * ys.at(v) };
  const picture = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label, class: "chart" });
  for (const tick of ys.ticks) {
    const y = at.y(tick);
    if (y < TOP - 1 || y > HEIGHT - BOTTOM + 1) continue;
    picture.append(drawn("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y, class: "grid" }));
    const text = drawn("text", { x: LEFT - 6, y: y + 4, class: "tick end" });
    text.textContent = shown(tick, 3);
    picture.append(text);
  }
  for (const tick of xs.ticks) {
    const x = at.x(tick);
    if (x < LEFT - 1 || x > WIDTH - RIGHT + 1) continue;
    const text = drawn("text", { x, y: HEIGHT - BOTTOM + 17, class: "tick middle" });
    text.textContent = shown(tick, 3);
    picture.append(drawn("line", { x1: x, x2: x, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 4, class: "axis" }), text);
  }
  picture.append(drawn("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM, class: "axis" }));
  const below = drawn("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, class: "label middle" });
  below.textContent = xLabel;
  const beside = drawn("text", { x: 14, y: (TOP + HEIGHT - BOTTOM) / 2, class: "label middle", transform: `rotate(-90 14 ${(TOP + HEIGHT - BOTTOM) / 2})` });
  beside.textContent = yLabel;
  picture.append(below, beside);
  return { picture, at };
};
const path = (points, at) => points.map(([x, y], i) => `${i ? "L" : "M"}${at.x(x).toFixed(1)} ${at.y(y).toFixed(1)}`).join("");

// Errors over time: series of { name, kind, points: [[seconds, best, low, median, high]] }.
export const errorsOverTime = (series, yLabel) => {
  const all = series.flatMap((own) => own.points), last = all.length ? Math.max(...all.map((p) => p[0])) : 1;
  const xs = scale([0, last], { fromZero: true });
  const ys = scale(all.flatMap((p) => p.slice(1)), { mayBeLog: true });
  const ends = series.map((own) => `${own.name}: ${shown(own.points.at(-1)?.[1])}`).join("; ");
  const { picture, at } = frame(xs, ys, "seconds", yLabel, `Error over time. Lowest now, ${ends}`);
  for (const { kind, points } of series) {
    const several = points.filter((p) => p[3] !== p[1] && Number.isFinite(p[4]));
    if (several.length > 1) {
      const band = [...several.map((p) => [p[0], p[2]]), ...several.toReversed().map((p) => [p[0], p[4]])];
      picture.append(drawn("path", { d: `${path(band, at)}Z`, class: `band ${kind}` }));
      picture.append(drawn("path", { d: path(several.map((p) => [p[0], p[3]]), at), class: `line thin ${kind}` }));
    }
    picture.append(drawn("path", { d: path(points.map((p) => [p[0], p[1]]), at), class: `line ${kind}` }));
    if (points.length) picture.append(drawn("circle", { cx: at.x(points.at(-1)[0]), cy: at.y(points.at(-1)[1]), r: 3.5, class: `dot ${kind}` }));
  }
  return picture;
};

// Size against error: series of { name, kind, points: [{ size, error, isChosen }] }.
export const front = (series, yLabel) => {
  const all = series.flatMap((own) => own.points);
  const sizes = all.map((p) => p.size), areLarge = Math.max(0, ...sizes) > LARGE;
  const xs = scale(sizes, { fromZero: true, mayBeLog: areLarge });
  const ys = scale(all.map((p) => p.error), { mayBeLog: true });
  const { picture, at } = frame(xs, ys, "size (nodes)", yLabel, `Size against error of ${all.length} formulas`);
  for (const { kind, points } of series) {
    const steps = points.flatMap((p, i) => i ? [[p.size, points[i - 1].error], [p.size, p.error]] : [[p.size, p.error]]);
    picture.append(drawn("path", { d: path(steps, at), class: `line thin ${kind}` }));
    for (const p of points) {
      const dot = drawn("circle", { cx: at.x(p.size), cy: at.y(p.error), r: p.isChosen ? 6.5 : 4, class: p.isChosen ? `dot ring ${kind}` : `dot ${kind}` });
      const title = drawn("title");
      title.textContent = `${p.size} nodes, error ${shown(p.error)}: ${p.text.slice(0, 120)}`;
      dot.append(title);
      picture.append(dot);
    }
  }
  return picture;
};

// The current best against the data: numbers against numbers, or for each class the shares that rows give to it.
export const against = (said, classes) => {
  if (classes) return shares(said, classes);
  const values = said.flat(), both = scale(values);
  const { picture, at } = frame(both, both, "in the data", "predicted", `Predictions for ${said.length} rows against the data`);
  const known = values.filter(Number.isFinite);
  if (known.length) {
    const ends = [Math.min(...known), Math.max(...known)];
    picture.append(drawn("path", { d: path([[ends[0], ends[0]], [ends[1], ends[1]]], at), class: "diagonal" }));
  }
  for (const [x, y] of said) {
    if (Number.isFinite(x) && Number.isFinite(y)) picture.append(drawn("circle", { cx: at.x(x), cy: at.y(y), r: 2.6, class: "point" }));
  }
  return picture;
};
const shares = (said, classes) => {
  const xs = { at: (v) => (v + 0.5) / classes.length, ticks: [] };
  const { picture, at } = frame(xs, linear(0, 1), "class in the data", "share that it is given", `Share that the right class is given, for ${said.length} rows`);
  classes.forEach((name, k) => {
    const text = drawn("text", { x: at.x(k), y: HEIGHT - BOTTOM + 17, class: "tick middle" });
    text.textContent = name.length > 14 ? `${name.slice(0, 13)}…` : name;
    picture.append(text);
  });
  said.forEach(([k, share], i) => {
    const x = at.x(k + ((i * 0.618034) % 1 - 0.5) * 0.7);  // beside each other, always at the same places
    if (Number.isFinite(share)) picture.append(drawn("circle", { cx: x, cy: at.y(share), r: 2.6, class: "point" }));
  });
  return picture;
};

// The distribution of a column, as small bars.
export const bars = (counts, label) => {
  const most = Math.max(...counts, 1), width = 96 / Math.max(counts.length, 1);
  const picture = drawn("svg", { viewBox: "0 0 96 24", role: "img", "aria-label": label, class: "bars" });
  counts.forEach((n, k) => {
    const height = n ? Math.max(1, 23 * n / most) : 0;
    picture.append(drawn("rect", { x: k * width + 0.4, y: 24 - height, width: Math.max(width - 0.8, 0.8), height }));
  });
  return picture;
};

export const figure = (title, note) => {
  const place = element("div", { className: "canvas" });
  const caption = element("figcaption", {}, element("strong", { textContent: title }), element("span", { className: "quiet", textContent: note ? ` ${note}` : "" }));
  const made = element("figure", {}, caption, place);
  return { made, draw: (picture) => place.replaceChildren(picture), caption };
};
