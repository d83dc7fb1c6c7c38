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

// What is shown: the value, the account by component, the time of each stage, and the elasticity by each input.
function solve(model, values) {
  if (model.grid) return between(model.grid, values);
  const tape = model.tape, registers = run(tape, values);
  const [value, booked, ...stages] = tape.outputs;
  const bars = derivatives(tape, registers, value);
  const shares = booked === value ? bars : derivatives(tape, registers, booked);
  const account = {}, elasticity = {};
  for (const [register, component] of tape.labels) {
    account[component] = (account[component] || 0) + registers[register] * shares[register];
  }
  for (const [register, name] of tape.inputs) {
    elasticity[name] = (values[name] * bars[register]) / registers[value];
  }
  return { value: registers[value], account, elasticity, stages: stages.map((each) => registers[each]) };
}

// Answers that were computed at the points of a grid: between them, logarithms are interpolated along logarithms.
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
  const value = Math.exp(mix(grid.logs)), account = {}, elasticity = {};
  for (const [component, shares] of Object.entries(grid.shares)) account[component] = value * mix(shares);
  grid.axes.forEach(({ name }, axis) => {
    const [at, part, length] = places[axis], nodes = grid.axes[axis].nodes;
    const ends = [0, 1].map((end) => {
      places[axis] = [at, end, length];
      return mix(grid.logs);
    });
    places[axis] = [at, part, length];
    elasticity[name] = (ends[1] - ends[0]) / (nodes[at + 1] - nodes[at]);
  });
  return { value, account, elasticity, stages: [] };
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

function start(document) {
  const model = JSON.parse(document.getElementById("model").textContent);
  const values = { ...model.values };
  const find = (id) => document.getElementById(id);
  const percent = (part) => `${Number((100 * part).toPrecision(3))} %`;
  const width = (element, part) => { element.style.width = `${Math.max(0, Math.min(100, 100 * part || 0))}%`; };
  const base = solve(model, values);

  function draw() {
    const found = solve(model, values);
    find("value").textContent = shown(found.value, model.unit, model.ladders);
    const ratio = Number((found.value / base.value).toPrecision(4));
    find("ratio").textContent = ratio === 1 ? "as given" : `${ratio} times the value given`;
    const whole = Object.values(found.account).reduce((x, y) => x + y, 0);
    model.components.forEach((name, index) => {
      const part = found.account[name] || 0;
      width(find(`bar-${index}`), part / whole);
      find(`part-${index}`).textContent = `${shown(part, model.unit, model.ladders)}, ${percent(part / whole)}`;
    });
    let at = 0;
    model.pipelines.forEach((each, index) => {
      const times = found.stages.slice(at, (at += each.stages.length));
      const longest = times.indexOf(Math.max(...times));
      const words = each.stages.map((stage, place) => `${stage} ${shown(times[place], "s", model.ladders)}`);
      find(`limit-${index}`).textContent = `${each.name} is limited by ${each.stages[longest]} (${words.join(", ")})`;
    });
    const ranked = [...model.sliders].sort((x, y) => Math.abs(found.elasticity[y.name]) - Math.abs(found.elasticity[x.name]));
    const rows = find("ranking");
    rows.replaceChildren(...ranked.map((each) => {
      const row = document.createElement("li");
      row.textContent = `${each.name}: 1 % more changes it by ${percent(found.elasticity[each.name] / 100)}`;
      return row;
    }));
  }

  model.sliders.forEach((each, index) => {
    const input = find(`slider-${index}`), output = find(`now-${index}`);
    const tell = () => {
      output.textContent = shown(values[each.name], each.unit, model.ladders);
      input.setAttribute("aria-valuetext", output.textContent);
    };
    input.addEventListener("input", () => {
      // A slider goes by equal ratios; whole numbers stay whole, and the place where it began is the value given.
      const at = Number(input.value) / Number(input.max);
      const moved = each.low * Math.pow(each.high / each.low, at);
      const next = each.whole ? Math.round(moved) : Number(moved.toPrecision(4));
      values[each.name] = input.value === input.defaultValue ? model.values[each.name] : next;
      tell();
      draw();
    });
    tell();
  });
  find("reset").addEventListener("click", () => {
    model.sliders.forEach((each, index) => {
      find(`slider-${index}`).value = find(`slider-${index}`).defaultValue;
      values[each.name] = model.values[each.name];
      find(`now-${index}`).textContent = shown(values[each.name], each.unit, model.ladders);
    });
    draw();
  });
  draw();
}

if (typeof document !== "undefined" && document.getElementById("model")) start(document);
