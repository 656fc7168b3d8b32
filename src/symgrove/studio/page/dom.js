// Elements, requests and numbers. Texts are only ever set as text.

export const element = (kind, attributes = {}, ...children) => {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in made && name !== "list" && !name.startsWith("aria")) made[name] = value;
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
};

const SVG = "http://www.w3.org/2000/svg";
export const drawn = (kind, attributes = {}, ...children) => {
  const made = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

// Mathematics: what our own writer makes is read as XML, and only its elements are made again, without attributes.
const MATHS = "http://www.w3.org/1998/Math/MathML";
const KNOWN = new Set(["math", "mrow", "mi", "mn", "mo", "mtext", "mfrac", "msup", "msub", "msqrt", "mroot", "mspace", "mtable", "mtr", "mtd", "msubsup", "munder", "mover", "mpadded", "mstyle"]);
const copied = (node) => {
  if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.textContent);
  if (node.nodeType !== Node.ELEMENT_NODE || !KNOWN.has(node.localName)) throw new Error("unknown mathematics");
  const made = document.createElementNS(MATHS, node.localName);
  for (const child of node.childNodes) made.append(copied(child));
  return made;
};
// Lines may end before each plus and minus that stands in no bracket: browsers end none within a formula.
const summands = (node) => {
  const [left, sign, right] = node.children;
  if (node.localName !== "mrow" || node.children.length !== 3 || sign.localName !== "mo" || !"+−".includes(sign.textContent)) return [[node]];
  sign.setAttribute("form", "infix");
  sign.setAttribute("rspace", "0.25em");
  return [...summands(left), [sign, right]];
};
const maths = (parts) => {
  const made = document.createElementNS(MATHS, "math");
  made.append(...parts);
  return made;
};
// What is wider than its place can be scrolled with the keyboard too; other formulas are no stops on the way.
const scrolls = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0; else target.removeAttribute("tabindex");
  }
});
export const formula = ({ mathml, text }, before = "") => {
  const place = element("div", { className: "maths", role: "math", "aria-label": `${before}${text}` });
  scrolls.observe(place);
  try {
    if (!mathml) throw new Error("too long");
    const read = new DOMParser().parseFromString(mathml, "application/xml").documentElement;
    const parts = [...copied(read).children].flatMap(summands).map(maths);
    if (before) {
      const label = document.createElementNS(MATHS, "mtext");
      label.textContent = before.replaceAll(" ", "\u00a0");
      parts[0].prepend(label);
    }
    place.append(...parts.flatMap((part) => [part, " "]));
  } catch {
    place.append(element("code", { textContent: before + text }));
  }
  return place;
};

export class Refused extends Error {}
export const request = async (path, method = "GET", body = undefined) => {
  let answer;
  try {
    answer = await fetch(path, { method, body, headers: body === undefined ? {} : { "content-type": "application/json" } });
  } catch {
    throw new Refused("The studio does not answer. Is `symgrove studio` still running? Runs go on without it; start it again to see them.");
  }
  if (answer.status === 204) return null;
  const found = await answer.json().catch(() => ({ error: `the studio answered ${answer.status}.` }));
  if (!answer.ok) throw new Refused(found.error ?? "the studio refused.");
  return found;
};
export const send = (path, value) => request(path, "POST", JSON.stringify(value ?? {}));

// What is said to people who do not see: seldom, and only what has changed.
let said = "";
export const say = (text) => {
  if (text === said) return;
  said = text;
  document.getElementById("status").textContent = text;
};

export const shown = (value, digits = 4) => {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(digits - 2).replaceAll("-", "−");
  return value.toLocaleString("en-US", { maximumSignificantDigits: Math.max(digits, Math.min(7, Math.floor(Math.log10(size || 1)) + 1)) }).replace("-", "−");
};
export const count = (value) => value.toLocaleString("en-US");
export const duration = (seconds) => {
  if (seconds < 90) return `${seconds < 10 ? Math.round(seconds * 10) / 10 : Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 360) / 10} h`;
};
export const trouble = (text) => element("p", { className: "warning", role: "alert", textContent: text });
export const heading = (text) => element("h1", { textContent: text });
export const GOALS = { law: "One formula to read", grove: "Most accurate ensemble", "2segp": "The paper's method" };
export const STATES = {
  running: "running", finished: "finished", stopped: "stopped", failed: "failed", "broken off": "broken off",
};
