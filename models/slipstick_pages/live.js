"use strict";
// The model of a page: a tape of instructions over registers, run forwards for values and backwards for derivatives.
// Each operator: the value from its operands a; then the derivative by each operand, from a, the value v and the derivative b.
const fold = (step) => (a) => a.reduce(step);
const first = (a, v, b) => {
  let free = true; // the whole derivative goes to the first operand that attains the extreme
  return a.map((each) => (free && each === v ? ((free = false), b) : 0));
};
const whole = (base, exponent) => {
  let square = base, result = 1;
  for (let rest = Math.abs(exponent); rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2) result *= square;
    square *= square;
  }
  return exponent >= 0 ? result : 1 / result;
};
const levels = (count, radix) => {
  if (!(count < Infinity)) return count;
  let power = 1n, found = 0; // whole numbers of any size: comparing them with a double is exact
  while (power < count) { power *= BigInt(radix); found += 1; }
  return found;
};
const behind = (rate, inputs, outputs) => -Math.expm1(inputs * Math.log1p(-rate / outputs));
const through = ([rate, inputs, outputs, stages]) => {
  let slope = 1;
  for (let stage = 0; stage < stages; stage += 1) {
    slope *= (Math.exp((inputs - 1) * Math.log1p(-rate / outputs)) * inputs) / outputs;
    rate = behind(rate, inputs, outputs);
  }
  return [rate, slope];
};
const lost = ([load, servers]) => {
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
  max: [fold((x, y) => Math.max(x, y)), first],
  min: [fold((x, y) => Math.min(x, y)), first],
  ceil: [(a) => Math.ceil(a[0]), () => []],
  floor: [(a) => Math.floor(a[0]), () => []],
  log2: [(a) => Math.log2(a[0]), (a, v, b) => [b / (a[0] * Math.LN2)]],
  sqrt: [(a) => Math.sqrt(a[0]), (a, v, b) => [b / (2 * v)]],
  ceil_log: [(a) => levels(a[0], a[1]), () => []],
  power: [(a) => whole(a[0], a[1]), (a, v, b) => [a[1] ? b * a[1] * whole(a[0], a[1] - 1) : 0]],
  select: [(a) => (a[0] <= a[1] ? a[2] : a[3]), (a, v, b) => (a[0] <= a[1] ? [0, 0, b, 0] : [0, 0, 0, b])],
  exp: [(a) => Math.exp(a[0]), (a, v, b) => [b * v]],
  log: [(a) => Math.log(a[0]), (a, v, b) => [b / a[0]]],
  pow: [
    (a) => Math.pow(a[0], a[1]),
    (a, v, b) => [a[1] ? b * a[1] * Math.pow(a[0], a[1] - 1) : 0, v ? b * v * Math.log(a[0] > 0 ? a[0] : 1) : 0],
  ],
  erlang_b: [lost, (a, v, b) => [a[0] ? b * v * (a[1] / a[0] - 1 + v) : a[1] === 1 ? b : 0]],
  drop_stages: [(a) => through(a)[0], (a, v, b) => [b * through(a)[1]]],
};

function run(tape, values) {
  const registers = new Array(tape.size);
  for (const [register, number] of tape.numbers) registers[register] = number;
  for (const [register, name] of tape.inputs) registers[register] = values[name];
  for (const [operator, out, ...args] of tape.code) {
    registers[out] = OPERATORS[operator][0](args.map((each) => registers[each]));
  }
  return registers;
}

function derivatives(tape, registers, output) {
  const bars = new Array(tape.size).fill(0);
  bars[output] = 1;
  for (let at = tape.code.length - 1; at >= 0; at -= 1) {
    const [operator, out, ...args] = tape.code[at], bar = bars[out];
    if (bar === 0) continue;
    const parts = OPERATORS[operator][1](args.map((each) => registers[each]), registers[out], bar);
    parts.forEach((part, index) => { bars[args[index]] += part; });
  }
  return bars;
}

// What is shown: every value, the account by component, the time of each stage, and the elasticity by each input.
function solve(model, values) {
  if (model.grid) return between(model.grid, values);
  const tape = model.tape, registers = run(tape, values);
  const [value, booked, ...stages] = tape.outputs;
  const full = Object.entries(model.busy || {}).filter(([, register]) => registers[register] >= 1);
  const account = {}, elasticity = {}, shown = {};
  if (full.length) {
    for (const [name, register] of Object.entries(model.shown)) {
      shown[name] = name.startsWith("utilization") ? registers[register] : NaN;
    }
    return { value: NaN, values: shown, account, elasticity, stages: [], full: full.map(([name]) => name) };
  }
  const bars = derivatives(tape, registers, value);
  const shares = booked === value ? bars : derivatives(tape, registers, booked);
  for (const [register, component] of tape.labels) {
    account[component] = (account[component] || 0) + registers[register] * shares[register];
  }
  for (const [register, name] of tape.inputs) {
    elasticity[name] = (values[name] * bars[register]) / registers[value];
  }
  for (const [name, register] of Object.entries(model.shown || {})) shown[name] = registers[register];
  return { value: registers[value], values: shown, account, elasticity, stages: stages.map((each) => registers[each]), full: [] };
}

// The ends of the interval of a value: of nine of ten draws of what has a range and was not moved, and of the noise of a fit.
function ends(model, values, name, moved = "") {
  const drawn = Object.entries(model.draws || {}).filter(([path]) => path !== moved && values[path] === model.values[path]);
  if (!drawn.length) return [NaN, NaN];
  const found = drawn[0][1].map((_, at) => {
    const point = { ...values };
    for (const [path, factors] of drawn) point[path] *= factors[at];
    return solve(model, point).values[name];
  });
  if (!found.every(Number.isFinite)) return [NaN, NaN];
  found.sort((x, y) => x - y);
  const own = solve(model, values).values[name], noise = 1.6448536269514722 * ((model.noise || {})[name] || 0);
  return [0.05, 0.95].map((part) => {
    const place = part * (found.length - 1), low = Math.floor(place), high = Math.min(low + 1, found.length - 1);
    const end = found[low] + (place - low) * (found[high] - found[low]), sign = part < 0.5 ? -1 : 1;
    return own + sign * Math.hypot(Math.max(sign * (end - own), 0), own * Math.expm1(sign * noise));
  });
}

// Answers that were computed at the points of a grid: between them they, or their logarithms, are interpolated along
// the logarithms of the inputs.
function between(grid, values) {
  const places = grid.axes.map(({ name, nodes }) => {
    const x = Math.log(values[name]), last = nodes.length - 2;
    let at = 0;
    while (at < last && x > nodes[at + 1]) at += 1;
    return [at, Math.max(0, Math.min(1, (x - nodes[at]) / (nodes[at + 1] - nodes[at]))), nodes.length];
  });
  const mix = (column, axis = 0, index = 0) => {
    if (axis === places.length) return column[index] ?? NaN;
    const [at, part, length] = places[axis], first = index * length + at;
    const low = part < 1 ? (1 - part) * mix(column, axis + 1, first) : 0;
    return low + (part > 0 ? part * mix(column, axis + 1, first + 1) : 0);
  };
  const at = ({ logs, column }) => (logs ? Math.exp(mix(column)) : mix(column));
  const shown = {}, account = {}, elasticity = {};
  for (const [name, stored] of Object.entries(grid.outputs)) shown[name] = at(stored);
  const main = Object.values(grid.outputs)[0], value = at(main);
  // The account is that of the time, whatever is shown.
  for (const [component, shares] of Object.entries(grid.shares)) account[component] = at(grid.accounted) * mix(shares);
  grid.axes.forEach(({ name }, axis) => {
    const [first, part, length] = places[axis], nodes = grid.axes[axis].nodes;
    const ends = [0, 1].map((end) => {
      places[axis] = [first, end, length];
      return Math.log(at(main));
    });
    places[axis] = [first, part, length];
    elasticity[name] = (ends[1] - ends[0]) / (nodes[first + 1] - nodes[first]);
  });
  return { value, values: shown, account, elasticity, stages: [], full: [] };
}

function shown(value, unit, ladders) {
  if (!Number.isFinite(value)) return "no value";
  if (unit === "B" && Number.isInteger(value)) {
    // Whole bytes: the largest binary unit that divides them, if that is shorter than all their digits.
    const rung = [6, 5, 4, 3, 2, 1, 0].find((each) => value % 1024 ** each === 0);
    const multiple = value / 1024 ** rung;
    if (multiple < 10000 && String(multiple).length < String(value).replace(/0+$/, "").length) {
      return `${multiple} ${["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][rung]}`;
    }
    if (value < 10000) return `${value} B`;
  }
  const ladder = ladders[unit];
  const fit = ladder.filter((rung) => rung[2] * (1 - 5e-5) <= Math.abs(value || 1));
  const [name, factor] = fit.length ? fit[fit.length - 1] : ladder[0];
  const number = value / factor;
  const text = Math.abs(number) < 1e9 ? String(Number(number.toPrecision(4))) : number.toExponential(3).replace(/\.?0*e/, "e");
  return `${text} ${name.replace(/^1/, "")}`.trim();
}

// A number as it is typed, with one of the units of its dimension, in base units; NaN where it is neither.
function typed(text, units) {
  const parts = /^\s*([-+]?[\d.,]*\d[\d.]*(?:e[-+]?\d+)?)\s*(.*?)\s*$/i.exec(text);
  if (!parts) return NaN;
  const number = Number(parts[1].replace(/,/g, ""));
  if (parts[2] === "%" && "1" in units) return number / 100;
  if (parts[2] === "") return "1" in units ? number : NaN;
  const unit = parts[2].replace(/^(req|requests?|jobs?|customers?)(?=\/)/, "").replace(/^1(?=\/)/, "");
  return unit in units ? number * units[unit] : NaN;
}

// Places of an axis: about `count` round numbers from low to high.
function ticks(low, high, count) {
  const rough = (high - low) / count, power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const places = [];
  for (let at = Math.ceil(low / step); at * step <= high * (1 + 1e-9); at += 1) places.push(Number((at * step).toPrecision(9)));
  return places;
}

// The point between two ends, one without and one with an answer of the kind asked for, to the last visible digit.
function crossing(low, high, answered) {
  for (let step = 0; step < 40; step += 1) {
    const middle = (low + high) / 2;
    if (answered(middle)) low = middle; else high = middle;
  }
  return low;
}

function start(document) {
  const model = JSON.parse(document.getElementById("model").textContent);
  const values = { ...model.values }, chosen = { wanted: "" };
  const find = (id) => document.getElementById(id);
  const percent = (part) => `${Number((100 * part).toPrecision(3))} %`;
  const width = (element, part) => { element.style.width = `${Math.max(0, Math.min(100, 100 * part || 0))}%`; };
  const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);
  const labelOf = (name) => model.outputs.find((each) => each.name === name).label;
  const unitOf = (name) => model.outputs.find((each) => each.name === name).unit;
  const sliderOf = (name) => model.sliders.find((each) => each.name === name);
  const text = (value, unit) => shown(value, unit, model.ladders);
  const base = solve(model, values), main = model.outputs[0].name;
  chosen.output = main;
  chosen.against = model.sliders[0].name;

  // Where the chosen input saturates a station, if it does so between the ends of its slider.
  function saturation(name) {
    const slider = sliderOf(name);
    const free = (x) => !solve(model, { ...values, [name]: x }).full.length;
    if (free(slider.low) === free(slider.high)) return NaN;
    return free(slider.low) ? crossing(slider.low, slider.high, free) : crossing(slider.high, slider.low, free);
  }

  function points(state, slider) {
    const { low, high, whole } = slider, found = [], even = high / low <= 30 || whole;
    const count = whole ? Math.min(160, high - low) : 160;
    for (let at = 0; at <= count; at += 1) {
      let x = even ? low + ((high - low) * at) / count : low * Math.pow(high / low, at / count);
      if (whole) x = Math.round(x);
      found.push([x, solve(model, { ...state, [slider.name]: x }).values[chosen.output]]);
    }
    return found;
  }

  // The interval of the chosen output along the chosen input: low ends from left to right, high ends back.
  function band(line, slider) {
    const some = line.filter((_, at) => at % Math.ceil(line.length / 48) === 0 || at === line.length - 1);
    const rows = some.map(([x]) => [x, ...ends(model, { ...values, [slider.name]: x }, chosen.output, slider.name)]);
    const known = rows.filter(([, low, high]) => Number.isFinite(low) && Number.isFinite(high) && low < high);
    return known.map(([x, low]) => [x, low]).concat(known.reverse().map(([x, , high]) => [x, high]));
  }

  function drawCurve(now) {
    const svg = find("curve"), wide = svg.clientWidth || 360, tall = 280, slider = sliderOf(chosen.against);
    const unit = unitOf(chosen.output), line = points(values, slider), given = points(model.values, slider);
    const finite = line.concat(given).map(([, y]) => y).filter(Number.isFinite);
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${wide} ${tall}`);
    if (!finite.length) return;
    const limit = typed(chosen.wanted, model.units[unit]);
    const here = now.values[chosen.output];
    const sorted = [...finite].sort((x, y) => x - y), middle = sorted[Math.floor(sorted.length / 2)];
    // Beside saturation a value has no largest one: the axis ends where it still shows the rest.
    const most = Math.max(5 * middle, 1.2 * (here || 0), 1.2 * (limit || 0), 1e-300);
    const around = band(line, slider), highest = Math.max(sorted[sorted.length - 1], ...around.map(([, y]) => y));
    const top = Math.min(highest * 1.05, most) || 1, bottom = Math.min(0, sorted[0]);
    const across = slider.high / slider.low > 30 && !slider.whole;
    const scale = (x) => (across ? Math.log(x / slider.low) / Math.log(slider.high / slider.low) : (x - slider.low) / (slider.high - slider.low));
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
    const few = wide < 500 ? 3 : 5;
    const marks = across ? Array.from({ length: few }, (_, at) => slider.low * Math.pow(slider.high / slider.low, at / (few - 1))) : ticks(slider.low, slider.high, few);
    for (const x of marks.filter((each) => !slider.whole || Number.isInteger(each))) {
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
    const full = saturation(slider.name);
    if (Number.isFinite(full)) {
      put("line", { class: "limit", x1: px(full), x2: px(full), y1: 14, y2: foot });
      put("text", { class: "mark", x: px(full) - 6, y: foot - 8, "text-anchor": "end" }, `saturated at ${text(full, slider.unit)}`);
    }
    if (Number.isFinite(limit)) {
      put("line", { class: "limit", x1: left, x2: right, y1: py(limit), y2: py(limit) });
      put("text", { class: "mark", x: left + 6, y: py(limit) - 6 }, `limit ${text(limit, unit)}`);
    }
    if (Number.isFinite(here)) put("circle", { cx: px(Math.min(slider.high, Math.max(slider.low, values[slider.name]))), cy: Math.max(8, py(here)), r: 6 });
    caption(line, slider, unit, limit, changed, around.length > 0);
  }

  // What the curve says in words: where the limit is met.
  function caption(line, slider, unit, limit, changed, banded) {
    const words = [`${capital(labelOf(chosen.output))} against ${slider.label}${changed ? "; dashed: as given" : ""}.`];
    if (banded) words.push("Shaded: nine of ten values within the ranges of the other inputs.");
    if (Number.isFinite(limit)) {
      const below = (y) => y <= limit, met = line.filter(([, y]) => below(y)).length;
      const turn = line.findIndex(([, y], at) => at > 0 && below(y) !== below(line[at - 1][1]));
      if (!met || met === line.length) {
        words.push(met ? `At most ${text(limit, unit)} from end to end.` : `Nowhere at most ${text(limit, unit)}.`);
      } else {
        const [before, after] = [line[turn - 1], line[turn]], rises = below(before[1]);
        const fine = (x) => below(solve(model, { ...values, [slider.name]: x }).values[chosen.output]);
        const at = slider.whole ? (rises ? before[0] : after[0]) : rises ? crossing(before[0], after[0], fine) : crossing(after[0], before[0], fine);
        words.push(`At most ${text(limit, unit)} ${rises ? "up to" : "from"} ${text(at, slider.unit)}.`);
      }
    } else if (chosen.wanted.trim()) {
      words.push(`The limit needs a unit: ${Object.keys(model.units[unit]).filter((each) => each !== "1").join(", ") || "a plain number"}.`);
    }
    find("caption").textContent = words.join(" ");
  }

  function draw() {
    const now = solve(model, values), unit = unitOf(chosen.output), value = now.values[chosen.output];
    find("shown").textContent = capital(labelOf(chosen.output));
    find("value").textContent = now.full.length && !Number.isFinite(value) ? "no steady state" : text(value, unit);
    const [low, high] = ends(model, values, chosen.output);
    if (low < high) find("value").textContent += ` (${text(low, unit)} to ${text(high, unit)})`;
    const ratio = Number((value / base.values[chosen.output]).toPrecision(4));
    find("ratio").textContent = ratio === 1 ? "as given" : Number.isFinite(ratio) ? `${ratio} times the value given` : "";
    const place = now.full.length ? saturation(chosen.against) : NaN;
    const where = Number.isFinite(place) ? ` Saturation begins at ${text(place, sliderOf(chosen.against).unit)} (${sliderOf(chosen.against).label}).` : "";
    find("saturated").textContent = now.full.length ? `Saturated: ${now.full.join(", ")} gets more work than it can do.${where}` : "";
    model.outputs.forEach(({ name, unit: own }, index) => {
      const [before, after] = [base.values[name], now.values[name]];
      find(`changed-${index}`).textContent = text(after, own);
      find(`change-${index}`).textContent = after === before ? "none" : Number.isFinite(after / before) ? `${after > before ? "+" : ""}${percent(after / before - 1)}` : "";
    });
    const whole = Object.values(now.account).reduce((x, y) => x + y, 0);
    model.components.forEach((name, index) => {
      const part = now.account[name] || 0;
      width(find(`bar-${index}`), part / whole);
      find(`part-${index}`).textContent = whole ? `${text(part, "s")}, ${percent(part / whole)}` : "";
    });
    let at = 0;
    model.pipelines.forEach((each, index) => {
      const times = now.stages.slice(at, (at += each.stages.length));
      const longest = times.indexOf(Math.max(...times));
      const words = each.stages.map((stage, place) => `${stage} ${text(times[place], "s")}`);
      find(`limit-${index}`).textContent = `${each.name} is limited by ${each.stages[longest]} (${words.join(", ")})`;
    });
    const ranked = model.sliders.filter((each) => Number.isFinite(now.elasticity[each.name]));
    ranked.sort((x, y) => Math.abs(now.elasticity[y.name]) - Math.abs(now.elasticity[x.name]));
    find("ranking").replaceChildren(...ranked.map((each) => {
      const row = document.createElement("li");
      const change = now.elasticity[each.name] / 100;
      const verb = change < 0 ? "lowers" : "raises";
      row.textContent = `${capital(each.label)}: 1 % more ${verb} ${labelOf(main)} by ${percent(Math.abs(change))}`;
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
    find("link").href = `#${state}`;
    document.defaultView.history.replaceState(null, "", `#${state}`);
  }

  function recall() {
    const state = new URLSearchParams(document.defaultView.location.hash.slice(1));
    for (const slider of model.sliders) {
      const value = state.has(slider.name) ? Number(state.get(slider.name)) : model.values[slider.name];
      if (refusal(slider, value) === "") values[slider.name] = value;
      place(slider);
    }
    const output = state.get("output"), against = state.get("against");
    chosen.output = model.outputs.some((each) => each.name === output) ? output : main;
    chosen.against = sliderOf(against) ? against : model.sliders[0].name;
    chosen.wanted = state.get("limit") || "";
    find("output").value = chosen.output;
    find("against").value = chosen.against;
    find("wanted").value = chosen.wanted;
    draw();
  }

  // Why a value cannot be taken; empty where it can.
  function refusal(slider, value) {
    const units = Object.keys(model.units[slider.unit]).filter((each) => each !== "1");
    if (!Number.isFinite(value)) return units.length ? `${slider.label}: write a number with a unit: ${units.join(", ")}` : `${slider.label}: write a number`;
    if (slider.whole && !Number.isInteger(value)) return `${slider.label}: write a whole number`;
    const [low, high] = model.grid ? [slider.low, slider.high] : [slider.whole ? 1 : Number.MIN_VALUE, 1e308];
    const ends = model.grid ? `from ${text(low, slider.unit)} to ${text(high, slider.unit)}` : "above 0";
    return value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9) ? "" : `${slider.label}: write a value ${ends}`;
  }

  function place(slider) {
    const index = model.sliders.indexOf(slider), input = find(`slider-${index}`), value = values[slider.name];
    const at = slider.counted ? value : (Number(input.max) * Math.log(value / slider.low)) / Math.log(slider.high / slider.low);
    input.value = value === model.values[slider.name] ? input.defaultValue : Math.round(at);
    find(`now-${index}`).value = text(value, slider.unit);
    input.setAttribute("aria-valuetext", text(value, slider.unit));
  }

  model.sliders.forEach((slider, index) => {
    const input = find(`slider-${index}`), field = find(`now-${index}`);
    input.addEventListener("input", () => {
      // A slider goes by equal ratios, of few whole numbers by one; where it began stands the value given.
      const moved = slider.counted ? Number(input.value) : slider.low * Math.pow(slider.high / slider.low, Number(input.value) / Number(input.max));
      const next = slider.whole ? Math.round(moved) : Number(moved.toPrecision(4));
      values[slider.name] = input.value === input.defaultValue ? model.values[slider.name] : next;
      field.value = text(values[slider.name], slider.unit);
      input.setAttribute("aria-valuetext", field.value);
      find("problem").textContent = "";
      draw();
    });
    field.addEventListener("change", () => {
      const value = typed(field.value, model.units[slider.unit]);
      find("problem").textContent = refusal(slider, value);
      field.setAttribute("aria-invalid", String(refusal(slider, value) !== ""));
      if (refusal(slider, value)) return;
      values[slider.name] = value;
      place(slider);
      draw();
    });
  });
  for (const [id, event] of [["output", "change"], ["against", "change"], ["wanted", "input"]]) {
    find(id).addEventListener(event, () => { chosen[id] = find(id).value; draw(); });
  }
  document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  find("reset").addEventListener("click", () => {
    document.defaultView.location.hash = "";
    recall();
  });
  document.defaultView.addEventListener("resize", () => drawCurve(solve(model, values)));
  document.defaultView.addEventListener("hashchange", recall);
  recall();
}

if (typeof document !== "undefined" && document.getElementById("model")) start(document);
