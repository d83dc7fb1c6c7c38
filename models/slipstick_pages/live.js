"use strict";
// The model of a page: a tape of instructions over registers, run forwards for values and backwards for derivatives.
// Each operator: the value from its operands a; then the derivative by each operand, from a, the value v and the derivative b.
const fold = (step) => (a) => a.reduce(step);
const derivativeOfExtreme = (a, v, b) => {
  let isFirst = true; // the first operand that attains the extreme has the derivative, the others none
  return a.map((operand) => (isFirst && operand === v ? ((isFirst = false), b) : 0));
};
const wholePower = (base, exponent) => {
  let square = base, result = 1;
  for (let rest = Math.abs(exponent); rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2) result *= square;
    square *= square;
  }
  return exponent >= 0 ? result : 1 / result;
};
const levels = (count, radix) => {
  if (!(count < Infinity)) return count;
  let power = 1n, level = 0; // whole numbers of any size: comparing them with a double is exact
  while (power < count) { power *= BigInt(radix); level += 1; }
  return level;
};
const rateBehindStage = (rate, inputs, outputs) => -Math.expm1(inputs * Math.log1p(-rate / outputs));
const rateThroughStages = ([rate, inputs, outputs, stages]) => {
  let slope = 1;
  for (let stage = 0; stage < stages; stage += 1) {
    slope *= (Math.exp((inputs - 1) * Math.log1p(-rate / outputs)) * inputs) / outputs;
    rate = rateBehindStage(rate, inputs, outputs);
  }
  return [rate, slope];
};
const lostShare = ([load, servers]) => {
  let inverse = 1;
  for (let k = 1; k <= servers; k += 1) inverse = 1 + (k / Math.max(load, 1e-300)) * inverse;
  return 1 / inverse;
};
const OPERATORS = {
  booked: [(a) => a[0], (a, v, b) => [b]],
  sum: [fold((x, y) => x + y), (a, v, b) => a.map(() => b)],
  difference: [fold((x, y) => x - y), (a, v, b) => [b, -b]],
  product: [fold((x, y) => x * y), (a, v, b) => [b * a[1], b * a[0]]],
  quotient: [fold((x, y) => x / y), (a, v, b) => [b / a[1], (-b * v) / a[1]]],
  max: [fold((x, y) => Math.max(x, y)), derivativeOfExtreme],
  min: [fold((x, y) => Math.min(x, y)), derivativeOfExtreme],
  ceil: [(a) => Math.ceil(a[0]), () => []],
  floor: [(a) => Math.floor(a[0]), () => []],
  log2: [(a) => Math.log2(a[0]), (a, v, b) => [b / (a[0] * Math.LN2)]],
  sqrt: [(a) => Math.sqrt(a[0]), (a, v, b) => [b / (2 * v)]],
  ceil_log: [(a) => levels(a[0], a[1]), () => []],
  power: [(a) => wholePower(a[0], a[1]), (a, v, b) => [a[1] ? b * a[1] * wholePower(a[0], a[1] - 1) : 0]],
  select: [(a) => (a[0] <= a[1] ? a[2] : a[3]), (a, v, b) => (a[0] <= a[1] ? [0, 0, b, 0] : [0, 0, 0, b])],
  exp: [(a) => Math.exp(a[0]), (a, v, b) => [b * v]],
  log: [(a) => Math.log(a[0]), (a, v, b) => [b / a[0]]],
  pow: [
    (a) => Math.pow(a[0], a[1]),
    (a, v, b) => [a[1] ? b * a[1] * Math.pow(a[0], a[1] - 1) : 0, v ? b * v * Math.log(a[0] > 0 ? a[0] : 1) : 0],
  ],
  erlang_b: [lostShare, (a, v, b) => [a[0] ? b * v * (a[1] / a[0] - 1 + v) : a[1] === 1 ? b : 0]],
  drop_stages: [(a) => rateThroughStages(a)[0], (a, v, b) => [b * rateThroughStages(a)[1]]],
};

function run(tape, values) {
  const registers = new Array(tape.size);
  for (const [register, number] of tape.numbers) registers[register] = number;
  for (const [register, name] of tape.inputs) registers[register] = values[name];
  for (const [operator, out, ...args] of tape.code) {
    registers[out] = OPERATORS[operator][0](args.map((register) => registers[register]));
  }
  return registers;
}

function derivatives(tape, registers, output) {
  const derivative = new Array(tape.size).fill(0);
  derivative[output] = 1;
  for (const [operator, out, ...args] of [...tape.code].reverse()) {
    if (derivative[out] === 0) continue;
    const operands = args.map((register) => registers[register]);
    const terms = OPERATORS[operator][1](operands, registers[out], derivative[out]);
    terms.forEach((term, index) => { derivative[args[index]] += term; });
  }
  return derivative;
}

// What is shown: every value, the account by component, the time of each stage, and the elasticity by each input.
function solve(model, values) {
  if (model.grid) return interpolated(model.grid, values);
  const tape = model.tape, registers = run(tape, values);
  const [value, booked, ...stages] = tape.outputs;
  const saturated = Object.entries(model.busy || {}).filter(([, register]) => registers[register] >= 1);
  const account = {}, elasticity = {}, outputs = {};
  if (saturated.length) {
    for (const [name, register] of Object.entries(model.shown)) {
      outputs[name] = name.startsWith("utilization") ? registers[register] : NaN;
    }
    return { value: NaN, values: outputs, account, elasticity, stages: [], saturated: saturated.map(([name]) => name) };
  }
  const byRegister = derivatives(tape, registers, value);
  const shares = booked === value ? byRegister : derivatives(tape, registers, booked);
  for (const [register, component] of tape.labels) {
    account[component] = (account[component] || 0) + registers[register] * shares[register];
  }
  for (const [register, name] of tape.inputs) {
    elasticity[name] = (values[name] * byRegister[register]) / registers[value];
  }
  for (const [name, register] of Object.entries(model.shown || {})) outputs[name] = registers[register];
  const stageTimes = stages.map((register) => registers[register]);
  return { value: registers[value], values: outputs, account, elasticity, stages: stageTimes, saturated: [] };
}

// The ends of the interval of a value: of nine of ten draws of what has a range and was not moved, and of the noise of a fit.
function ends(model, values, name, moved = "") {
  const drawn = Object.entries(model.draws || {}).filter(([path]) => path !== moved && values[path] === model.values[path]);
  if (!drawn.length) return [NaN, NaN];
  const sorted = drawn[0][1].map((_, draw) => {
    const point = { ...values };
    for (const [path, factors] of drawn) point[path] *= factors[draw];
    return solve(model, point).values[name];
  }).sort((x, y) => x - y);
  if (!sorted.every(Number.isFinite)) return [NaN, NaN];
  const middle = solve(model, values).values[name], noise = 1.6448536269514722 * ((model.noise || {})[name] || 0);
  return [0.05, 0.95].map((share) => {
    const rank = share * (sorted.length - 1), low = Math.floor(rank), high = Math.min(low + 1, sorted.length - 1);
    const end = sorted[low] + (rank - low) * (sorted[high] - sorted[low]), sign = share < 0.5 ? -1 : 1;
    return middle + sign * Math.hypot(Math.max(sign * (end - middle), 0), middle * Math.expm1(sign * noise));
  });
}

// Answers that were computed at the points of a grid: between them they, or their logarithms, are interpolated along
// the logarithms of the inputs.
function interpolated(grid, values) {
  const cells = grid.axes.map(({ name, nodes }) => {
    const x = Math.log(values[name]), last = nodes.length - 2;
    let cell = 0;
    while (cell < last && x > nodes[cell + 1]) cell += 1;
    return [cell, Math.max(0, Math.min(1, (x - nodes[cell]) / (nodes[cell + 1] - nodes[cell]))), nodes.length];
  });
  const mix = (column, axis = 0, index = 0) => {
    if (axis === cells.length) return column[index] ?? NaN;
    const [cell, weight, length] = cells[axis], first = index * length + cell;
    const low = weight < 1 ? (1 - weight) * mix(column, axis + 1, first) : 0;
    return low + (weight > 0 ? weight * mix(column, axis + 1, first + 1) : 0);
  };
  const amount = ({ logs, column }) => (logs ? Math.exp(mix(column)) : mix(column));
  const outputs = {}, account = {}, elasticity = {};
  for (const [name, stored] of Object.entries(grid.outputs)) outputs[name] = amount(stored);
  const main = Object.values(grid.outputs)[0], value = amount(main);
  // The account is that of the time, whatever is shown.
  for (const [component, shares] of Object.entries(grid.shares)) account[component] = amount(grid.accounted) * mix(shares);
  grid.axes.forEach(({ name, nodes }, axis) => {
    const [cell, weight, length] = cells[axis];
    const [atLow, atHigh] = [0, 1].map((end) => {
      cells[axis] = [cell, end, length];
      return Math.log(amount(main));
    });
    cells[axis] = [cell, weight, length];
    elasticity[name] = (atHigh - atLow) / (nodes[cell + 1] - nodes[cell]);
  });
  return { value, values: outputs, account, elasticity, stages: [], saturated: [] };
}

function valueText(value, unit, ladders) {
  if (!Number.isFinite(value)) return "no value";
  if (unit === "B" && Number.isInteger(value)) {
    // Whole bytes: the largest binary unit that divides them, if that is shorter than all their digits.
    const binaryExponent = [6, 5, 4, 3, 2, 1, 0].find((exponent) => value % 1024 ** exponent === 0);
    const multiple = value / 1024 ** binaryExponent;
    if (multiple < 10000 && String(multiple).length < String(value).replace(/0+$/, "").length) {
      return `${multiple} ${["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][binaryExponent]}`;
    }
    if (value < 10000) return `${value} B`;
  }
  const ladder = ladders[unit];
  const fitting = ladder.filter(([, , least]) => least * (1 - 5e-5) <= Math.abs(value || 1));
  const [name, factor] = fitting.length ? fitting[fitting.length - 1] : ladder[0];
  const number = value / factor;
  const text = Math.abs(number) < 1e9 ? String(Number(number.toPrecision(4))) : number.toExponential(3).replace(/\.?0*e/, "e");
  return `${text} ${name.replace(/^1/, "")}`.trim();
}

// A number as it is typed, with one of the units of its dimension, in base units; NaN where it is neither.
function typed(text, units) {
  const match = /^\s*([-+]?[\d.,]*\d[\d.]*(?:e[-+]?\d+)?)\s*(.*?)\s*$/i.exec(text);
  if (!match) return NaN;
  const number = Number(match[1].replace(/,/g, ""));
  if (match[2] === "%" && "1" in units) return number / 100;
  if (match[2] === "") return "1" in units ? number : NaN;
  const unit = match[2].replace(/^(req|requests?|jobs?|customers?)(?=\/)/, "").replace(/^1(?=\/)/, "");
  return unit in units ? number * units[unit] : NaN;
}

// Places of an axis: about `count` round numbers from low to high.
function ticks(low, high, count) {
  const rough = (high - low) / count, power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((candidate) => candidate >= rough);
  const ticksAt = [];
  for (let multiple = Math.ceil(low / step); multiple * step <= high * (1 + 1e-9); multiple += 1) {
    ticksAt.push(Number((multiple * step).toPrecision(9)));
  }
  return ticksAt;
}

// The point between two ends, one without and one with an answer of the kind asked for, to the last visible digit.
function crossing(low, high, answered) {
  for (let step = 0; step < 40; step += 1) {
    const middle = (low + high) / 2;
    if (answered(middle)) low = middle; else high = middle;
  }
  return low;
}

// A slider with its ends where the other inputs stand now: in a network a little beyond the saturation of the first
// station, and never before the value that was typed or given.
const BEYOND_SATURATION = 1.1;
function reach(model, slider, values, anchor) {
  const { low, farthest } = slider, isSteady = (x) => !solve(model, { ...values, [slider.name]: x }).saturated.length;
  let high = slider.high;
  if (farthest && isSteady(farthest)) high = farthest;
  else if (farthest && isSteady(low)) high = Math.min(farthest, BEYOND_SATURATION * crossing(low, farthest, isSteady));
  return { ...slider, low: Math.min(low, anchor), high: Math.max(high, anchor) };
}

function start(document) {
  const model = JSON.parse(document.getElementById("model").textContent);
  const values = { ...model.values }, chosen = { wanted: "" };
  const byId = (id) => document.getElementById(id);
  const percent = (share) => `${Number((100 * share).toPrecision(3))} %`;
  const setWidth = (element, share) => { element.style.width = `${Math.max(0, Math.min(100, 100 * share || 0))}%`; };
  const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);
  const outputOf = (name) => model.outputs.find((output) => output.name === name);
  const labelOf = (name) => outputOf(name).label;
  const unitOf = (name) => outputOf(name).unit;
  const ranges = new Map(model.sliders.map((slider) => [slider.name, slider])); // with their present ends
  const sliderOf = (name) => ranges.get(name);
  const text = (value, unit) => valueText(value, unit, model.ladders);
  const base = solve(model, values), main = model.outputs[0].name;
  chosen.output = main;
  chosen.against = model.sliders[0].name;

  // Where the chosen input saturates a station, if it does so between the ends of its slider.
  function saturation(name) {
    const slider = sliderOf(name);
    const isSteady = (x) => !solve(model, { ...values, [name]: x }).saturated.length;
    if (isSteady(slider.low) === isSteady(slider.high)) return NaN;
    const [steady, saturated] = isSteady(slider.low) ? [slider.low, slider.high] : [slider.high, slider.low];
    return crossing(steady, saturated, isSteady);
  }

  function points(state, slider) {
    const { low, high, whole } = slider, rows = [], areEven = high / low <= 30 || whole;
    const count = whole ? Math.min(160, high - low) : 160;
    for (let step = 0; step <= count; step += 1) {
      let x = areEven ? low + ((high - low) * step) / count : low * Math.pow(high / low, step / count);
      if (whole) x = Math.round(x);
      rows.push([x, solve(model, { ...state, [slider.name]: x }).values[chosen.output]]);
    }
    return rows;
  }

  // The interval of the chosen output along the chosen input: low ends from left to right, high ends back.
  function band(line, slider) {
    const sample = line.filter((_, index) => index % Math.ceil(line.length / 48) === 0 || index === line.length - 1);
    const rows = sample.map(([x]) => [x, ...ends(model, { ...values, [slider.name]: x }, chosen.output, slider.name)]);
    const known = rows.filter(([, low, high]) => Number.isFinite(low) && Number.isFinite(high) && low < high);
    return known.map(([x, low]) => [x, low]).concat(known.reverse().map(([x, , high]) => [x, high]));
  }

  function drawCurve(now) {
    const svg = byId("curve"), wide = svg.clientWidth || 360, tall = 280, slider = sliderOf(chosen.against);
    const unit = unitOf(chosen.output), line = points(values, slider), given = points(model.values, slider);
    const finite = line.concat(given).map(([, y]) => y).filter(Number.isFinite);
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${wide} ${tall}`);
    if (!finite.length) return;
    const limit = typed(chosen.wanted, model.units[unit]);
    const present = now.values[chosen.output];
    const sorted = [...finite].sort((x, y) => x - y), middle = sorted[Math.floor(sorted.length / 2)];
    // Beside saturation a value has no largest one: the axis ends where it still shows the rest.
    const most = Math.max(5 * middle, 1.2 * (present || 0), 1.2 * (limit || 0), 1e-300);
    const around = band(line, slider), highest = Math.max(sorted[sorted.length - 1], ...around.map(([, y]) => y));
    const top = Math.min(highest * 1.05, most) || 1, bottom = Math.min(0, sorted[0]);
    const isLogarithmic = slider.high / slider.low > 30 && !slider.whole;
    const scale = (x) => (isLogarithmic ? Math.log(x / slider.low) / Math.log(slider.high / slider.low) : (x - slider.low) / (slider.high - slider.low));
    const left = 74, right = wide - 14, foot = tall - 46;
    const px = (x) => left + (right - left) * scale(x), py = (y) => foot - ((foot - 14) * (y - bottom)) / (top - bottom);
    const put = (name, attributes, content = "") => {
      const element = document.createElementNS(svg.namespaceURI, name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      element.textContent = content;
      svg.append(element);
    };
    for (const y of ticks(bottom, top, 4)) {
      put("line", { class: "rule", x1: left, x2: right, y1: py(y), y2: py(y) });
      put("text", { x: left - 6, y: py(y) + 4, "text-anchor": "end" }, text(y, unit));
    }
    const markCount = wide < 500 ? 3 : 5;
    const atEqualRatios = (_, index) => slider.low * Math.pow(slider.high / slider.low, index / (markCount - 1));
    const marks = isLogarithmic ? Array.from({ length: markCount }, atEqualRatios) : ticks(slider.low, slider.high, markCount);
    for (const x of marks.filter((mark) => !slider.whole || Number.isInteger(mark))) {
      put("line", { class: "axis", x1: px(x), x2: px(x), y1: foot, y2: foot + 5 });
      const anchor = px(x) > right - 30 ? "end" : px(x) < left + 20 ? "start" : "middle";
      put("text", { x: px(x), y: foot + 20, "text-anchor": anchor }, text(Number(x.toPrecision(3)), slider.unit));
    }
    put("line", { class: "axis", x1: left, x2: right, y1: foot, y2: foot });
    put("text", { x: (left + right) / 2, y: tall - 6, "text-anchor": "middle" }, slider.label.slice(-Math.floor(wide / 9)));
    const path = (rows) => {
      let started = false, d = "";
      for (const [x, y] of rows) {
        if (!Number.isFinite(y)) { started = false; continue; }
        d += `${started ? "L" : "M"}${px(x).toFixed(1)} ${Math.max(4, py(y)).toFixed(1)}`;
        started = true;
        if (y > top) started = false;
      }
      return d;
    };
    const changed = Object.keys(model.values).some((name) => values[name] !== model.values[name] && name !== slider.name);
    if (around.length) {
      const corners = around.map(([x, y]) => `${px(x).toFixed(1)},${Math.min(foot, Math.max(4, py(y))).toFixed(1)}`);
      put("polygon", { class: "band", points: corners.join(" ") });
    }
    if (changed) put("path", { class: "given", d: path(given) });
    put("path", { class: "line", d: path(line) });
    const saturatedAt = saturation(slider.name);
    if (Number.isFinite(saturatedAt)) {
      put("line", { class: "limit", x1: px(saturatedAt), x2: px(saturatedAt), y1: 14, y2: foot });
      put("text", { class: "mark", x: px(saturatedAt) - 6, y: foot - 8, "text-anchor": "end" }, `saturated at ${text(saturatedAt, slider.unit)}`);
    }
    if (Number.isFinite(limit)) {
      put("line", { class: "limit", x1: left, x2: right, y1: py(limit), y2: py(limit) });
      put("text", { class: "mark", x: left + 6, y: py(limit) - 6 }, `limit ${text(limit, unit)}`);
    }
    if (Number.isFinite(present)) put("circle", { cx: px(values[slider.name]), cy: Math.max(8, py(present)), r: 6 });
    caption(line, slider, unit, limit, changed, around.length > 0);
  }

  // What the curve says in words: where the limit is met.
  function caption(line, slider, unit, limit, changed, banded) {
    const words = [`${capital(labelOf(chosen.output))} against ${slider.label}${changed ? "; dashed: as given" : ""}.`];
    if (banded) words.push("Shaded: nine of ten values within the ranges of the other inputs.");
    if (Number.isFinite(limit)) {
      const isMet = ([, y]) => y <= limit, metCount = line.filter(isMet).length;
      const turn = line.findIndex((row, index) => index > 0 && isMet(row) !== isMet(line[index - 1]));
      if (!metCount || metCount === line.length) {
        words.push(metCount ? `At most ${text(limit, unit)} from end to end.` : `Nowhere at most ${text(limit, unit)}.`);
      } else {
        const [before, after] = [line[turn - 1], line[turn]], rises = isMet(before);
        const [met, missed] = rises ? [before[0], after[0]] : [after[0], before[0]];
        const isMetAt = (x) => isMet([x, solve(model, { ...values, [slider.name]: x }).values[chosen.output]]);
        const turnsAt = slider.whole ? met : crossing(met, missed, isMetAt);
        words.push(`At most ${text(limit, unit)} ${rises ? "up to" : "from"} ${text(turnsAt, slider.unit)}.`);
      }
    } else if (chosen.wanted.trim()) {
      words.push(`The limit needs a unit: ${Object.keys(model.units[unit]).filter((name) => name !== "1").join(", ") || "a plain number"}.`);
    }
    byId("caption").textContent = words.join(" ");
  }

  // What each input does to the main output, the largest effect first: 1 % more of an input that varies smoothly, one
  // more of a whole number, of which 1 % means nothing.
  function effects(now) {
    const moved = (slider) => ({ ...values, [slider.name]: values[slider.name] + 1 });
    const changeOf = (slider) => slider.whole ? solve(model, moved(slider)).values[main] / now.values[main] - 1 : now.elasticity[slider.name] / 100;
    const isInside = (slider) => !slider.whole || !model.grid || values[slider.name] < slider.high;
    const ranked = model.sliders.filter(isInside).map((slider) => [slider, changeOf(slider)]).filter(([, change]) => Number.isFinite(change));
    ranked.sort(([first, x], [second, y]) => first.whole - second.whole || Math.abs(y) - Math.abs(x));
    return ranked.map(([{ label, whole }, change]) => {
      const verb = change < 0 ? "lowers" : "raises";
      const effect = change ? `${verb} ${labelOf(main)} by ${percent(Math.abs(change))}` : `does not change ${labelOf(main)}`;
      return `${capital(label)}: ${whole ? "one" : "1 %"} more ${effect}`;
    });
  }

  // The slider that is being moved keeps its ends; those of the others follow the values.
  function draw(moved = "") {
    for (const slider of model.sliders.filter(({ name }) => name !== moved)) {
      ranges.set(slider.name, reach(model, slider, values, values[slider.name]));
      placeThumb(slider);
    }
    const now = solve(model, values), unit = unitOf(chosen.output), value = now.values[chosen.output];
    byId("shown").textContent = capital(labelOf(chosen.output));
    byId("value").textContent = now.saturated.length && !Number.isFinite(value) ? "no steady state" : text(value, unit);
    const [low, high] = ends(model, values, chosen.output);
    if (low < high) byId("value").textContent += ` (${text(low, unit)} to ${text(high, unit)})`;
    const ratio = Number((value / base.values[chosen.output]).toPrecision(4));
    byId("ratio").textContent = ratio === 1 ? "as given" : Number.isFinite(ratio) ? `${ratio} times the value given` : "";
    const saturatedAt = now.saturated.length ? saturation(chosen.against) : NaN;
    const begins = Number.isFinite(saturatedAt) ? ` Saturation begins at ${text(saturatedAt, sliderOf(chosen.against).unit)} (${sliderOf(chosen.against).label}).` : "";
    byId("saturated").textContent = now.saturated.length ? `Saturated: ${now.saturated.join(", ")} gets more work than it can do.${begins}` : "";
    model.outputs.forEach(({ name, unit: outputUnit }, index) => {
      const [before, after] = [base.values[name], now.values[name]];
      byId(`changed-${index}`).textContent = text(after, outputUnit);
      byId(`change-${index}`).textContent = after === before ? "none" : Number.isFinite(after / before) ? `${after > before ? "+" : ""}${percent(after / before - 1)}` : "";
    });
    const total = Object.values(now.account).reduce((x, y) => x + y, 0);
    model.components.forEach((name, index) => {
      const share = now.account[name] || 0;
      setWidth(byId(`bar-${index}`), share / total);
      byId(`part-${index}`).textContent = total ? `${text(share, "s")}, ${percent(share / total)}` : "";
    });
    let firstStage = 0;
    model.pipelines.forEach(({ name, stages }, index) => {
      const times = now.stages.slice(firstStage, (firstStage += stages.length));
      const longest = times.indexOf(Math.max(...times));
      const words = stages.map((stage, stageIndex) => `${stage} ${text(times[stageIndex], "s")}`);
      byId(`limit-${index}`).textContent = `${name} is limited by ${stages[longest]} (${words.join(", ")})`;
    });
    byId("ranking").replaceChildren(...effects(now).map((effect) => {
      const row = document.createElement("li");
      row.textContent = effect;
      return row;
    }));
    drawCurve(now);
    remember();
  }

  // The state stands behind the # of the address: what differs from the values given, and what is chosen.
  function remember() {
    const state = new URLSearchParams();
    model.sliders.forEach(({ name }) => { if (values[name] !== model.values[name]) state.set(name, values[name]); });
    if (chosen.output !== main) state.set("output", chosen.output);
    if (chosen.against !== model.sliders[0].name) state.set("against", chosen.against);
    if (chosen.wanted.trim()) state.set("limit", chosen.wanted);
    byId("link").href = `#${state}`;
    document.defaultView.history.replaceState(null, "", `#${state}`);
  }

  function recall() {
    const state = new URLSearchParams(document.defaultView.location.hash.slice(1));
    for (const slider of model.sliders) {
      const value = state.has(slider.name) ? Number(state.get(slider.name)) : model.values[slider.name];
      if (refusal(slider, value) === "") values[slider.name] = value;
      moveSlider(slider);
    }
    const output = state.get("output"), against = state.get("against");
    chosen.output = model.outputs.some(({ name }) => name === output) ? output : main;
    chosen.against = sliderOf(against) ? against : model.sliders[0].name;
    chosen.wanted = state.get("limit") || "";
    byId("output").value = chosen.output;
    byId("against").value = chosen.against;
    byId("wanted").value = chosen.wanted;
    draw();
  }

  // Why a value cannot be taken; empty where it can.
  function refusal(slider, value) {
    const units = Object.keys(model.units[slider.unit]).filter((name) => name !== "1");
    if (!Number.isFinite(value)) return units.length ? `${slider.label}: write a number with a unit: ${units.join(", ")}` : `${slider.label}: write a number`;
    if (slider.whole && !Number.isInteger(value)) return `${slider.label}: write a whole number`;
    const [low, high] = model.grid ? [slider.low, slider.high] : [slider.whole ? 1 : Number.MIN_VALUE, 1e308];
    const ends = model.grid ? `from ${text(low, slider.unit)} to ${text(high, slider.unit)}` : "above 0";
    return value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9) ? "" : `${slider.label}: write a value ${ends}`;
  }

  function moveSlider(slider) {
    const index = model.sliders.indexOf(slider), words = text(values[slider.name], slider.unit);
    byId(`now-${index}`).value = words;
    byId(`slider-${index}`).setAttribute("aria-valuetext", words);
  }

  // A slider goes by equal ratios, of few whole numbers by one.
  function positionOf(name, value) {
    const { low, high, counted } = sliderOf(name);
    return counted ? value : Math.round((model.steps * Math.log(value / low)) / Math.log(high / low));
  }

  function placeThumb({ name, counted }) {
    const input = byId(`slider-${model.sliders.findIndex((slider) => slider.name === name)}`), { low, high } = sliderOf(name);
    if (counted) [input.min, input.max] = [low, high];
    input.value = positionOf(name, values[name]);
  }

  model.sliders.forEach((slider, index) => {
    const input = byId(`slider-${index}`), field = byId(`now-${index}`);
    input.addEventListener("input", () => {
      const { low, high } = sliderOf(slider.name), position = Number(input.value), given = model.values[slider.name];
      const moved = slider.counted ? position : low * Math.pow(high / low, position / model.steps);
      const next = slider.whole ? Math.round(moved) : Number(moved.toPrecision(4));
      values[slider.name] = position === positionOf(slider.name, given) ? given : next;
      field.value = text(values[slider.name], slider.unit);
      input.setAttribute("aria-valuetext", field.value);
      byId("problem").textContent = "";
      draw(slider.name);
    });
    field.addEventListener("change", () => {
      const value = typed(field.value, model.units[slider.unit]);
      byId("problem").textContent = refusal(slider, value);
      field.setAttribute("aria-invalid", String(refusal(slider, value) !== ""));
      if (refusal(slider, value)) return;
      values[slider.name] = value;
      moveSlider(slider);
      draw();
    });
  });
  for (const [id, event] of [["output", "change"], ["against", "change"], ["wanted", "input"]]) {
    byId(id).addEventListener(event, () => { chosen[id] = byId(id).value; draw(); });
  }
  document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  byId("reset").addEventListener("click", () => {
    document.defaultView.location.hash = "";
    recall();
  });
  document.defaultView.addEventListener("resize", () => drawCurve(solve(model, values)));
  document.defaultView.addEventListener("hashchange", recall);
  recall();
}

if (typeof document !== "undefined" && document.getElementById("model")) start(document);
