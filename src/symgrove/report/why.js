"use strict";
// What each column contributes to a prediction: Shapley values, beside some rows of the data (contributions.py).
const why = (() => {
  const MOST_COLUMNS = 8;  // of a part of a sum, up to which all subsets are tried
  const MOST_STEPS = 2e7;  // that all subsets of the columns of a whole model may take: up to a second
  const TOLERANCE = 1e-6;

  // Values of steps on rows of features, in the order of the steps; those that the wanted ones need.
  const evaluate = (script, wanted, rows) => {
    const values = new Map();
    const visit = (i) => {
      if (values.has(i)) return;
      const [operation, args, numbers] = script.steps[i];
      args.forEach(visit);
      const found = new Float64Array(rows.length);
      const [first, second] = args.map((arg) => values.get(arg));
      if (operation === -1) rows.forEach((row, r) => { found[r] = row[numbers[0]]; });
      else if (operation === -2) found.fill(numbers[0]);
      else {
        const apply = script.operations[operation];
        for (let r = 0; r < rows.length; r++) found[r] = apply(first[r], second?.[r], numbers[0], numbers[1]);
      }
      values.set(i, found);
    };
    wanted.forEach(visit);
    return values;
  };
  const sumOf = (script, part) => (rows) => {
    const values = evaluate(script, part.sum.map(([step]) => step), rows);
    const total = new Float64Array(rows.length);
    for (const [step, coefficient] of part.sum) {
      values.get(step).forEach((value, r) => { total[r] += coefficient * value; });
    }
    return total;
  };

  // A row with the columns of a set from `x`, the others from `other`; the owner of a place is its column.
  const mixed = (x, other, owners, isOwn) => other.map((value, k) => isOwn(owners[k]) ? x[k] : value);
  const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

  // All subsets of the columns.
  const byEnumeration = (columns, valuesOf, x, beside, owners) => {
    const n = columns.length, rows = [];
    const place = new Map(columns.map((column, i) => [column, i]));
    for (let set = 0; set < 1 << n; set++) {
      for (const other of beside) rows.push(mixed(x, other, owners, (c) => place.has(c) && (set >> place.get(c)) & 1));
    }
    const all = valuesOf(rows);
    const at = Array.from({ length: 1 << n }, (_, set) => mean(all.slice(set * beside.length, (set + 1) * beside.length)));
    const weight = [1 / n];  // of a set of so many others
    for (let size = 1; size < n; size++) weight.push(weight[size - 1] * size / (n - size));
    const bits = (set) => { let count = 0; for (; set; set &= set - 1) count++; return count; };
    return columns.map((_, i) => {
      let total = 0;
      for (let set = 0; set < 1 << n; set++) {
        if (!((set >> i) & 1)) total += weight[bits(set)] * (at[set | (1 << i)] - at[set]);
      }
      return total;
    });
  };

  // Beside each row, an order and its reverse, the same each time: right for all that no three columns do together.
  const byOrders = (columns, valuesOf, x, beside, owners) => {
    let state = 1;
    const random = (below) => { state = (state * 48271) % 2147483647; return state % below; };
    const rows = [], orders = [];
    for (const other of beside) {
      const order = columns.map((_, i) => i);
      for (let i = order.length - 1; i > 0; i--) {
        const j = random(i + 1);
        [order[i], order[j]] = [order[j], order[i]];
      }
      for (const own of [order, order.slice().reverse()]) {
        orders.push(own);
        const taken = new Set();
        rows.push(mixed(x, other, owners, () => false));
        for (const i of own) {
          taken.add(columns[i]);
          rows.push(mixed(x, other, owners, (column) => taken.has(column)));
        }
      }
    }
    const all = valuesOf(rows), totals = columns.map(() => 0);
    orders.forEach((own, k) => {
      const start = k * (columns.length + 1);
      own.forEach((i, step) => { totals[i] += (all[start + step + 1] - all[start + step]) / orders.length; });
    });
    return totals;
  };
  const share = (isExact, ...rest) => (isExact ? byEnumeration : byOrders)(...rest);

  // Of a sum: part by part.
  const ofSum = (model, script, row, beside) => {
    const x = model.numbersOf(row), others = beside.map(model.numbersOf), totals = row.map(() => 0);
    let isExact = true;
    for (const part of script.parts) {
      const isShort = part.columns.length <= MOST_COLUMNS;
      isExact &&= isShort;
      const found = share(isShort, part.columns, sumOf(script, part), x, others, script.owners);
      part.columns.forEach((column, i) => { totals[column] += found[i]; });
    }
    return { contributions: totals, isExact };
  };

  // Of the prediction, or of the probability of the class at a place; setting has the columns that it may depend on,
  // the steps that it takes, and the rows beside which.
  return (model, place, script, setting, row) => {
    const { columns, nSteps, beside } = setting;
    const predict = place === null ? model.predict : (given) => model.predictProba(given)[place];
    const baseline = mean(beside.map(predict)), difference = predict(row) - baseline;
    if (script !== null) {
      const found = ofSum(model, script, row, beside);
      const total = found.contributions.reduce((a, b) => a + b, 0);
      // Else limits hold somewhere, or a term has no value: then the prediction is no sum there.
      if (Math.abs(total - difference) <= TOLERANCE * (Math.abs(difference) + Math.abs(baseline))) return { baseline, ...found };
    }
    const isExact = 2 ** columns.length * beside.length * nSteps <= MOST_STEPS;
    const found = share(isExact, columns, (rows) => rows.map(predict), row, beside, row.map((_, k) => k));
    const totals = row.map(() => 0);
    columns.forEach((column, i) => { totals[column] = found[i]; });
    return { baseline, contributions: totals, isExact };
  };
})();
if (typeof module !== "undefined") module.exports = why;
