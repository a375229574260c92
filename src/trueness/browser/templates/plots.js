"use strict";
(() => {
  const PER_PAGE = 60, MENU = 200, HEIGHTS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", WIDTH = 200, HEIGHT = 64, ROW = 22, ACROSS = 180, SPACE = "http://www.w3.org/2000/svg";
  const make = (tag, given = {}, ...children) => {
    const one = document.createElement(tag);
    for (const [name, value] of Object.entries(given)) if (name in one) one[name] = value; else one.setAttribute(name, value);
    one.append(...children);
    return one;
  };
  const draw = (tag, given, ...children) => { const one = document.createElementNS(SPACE, tag); for (const [name, value] of Object.entries(given)) one.setAttribute(name, value); one.append(...children); return one; };
  const shown = value => value === null ? "–" : String(Number(value.toPrecision(3))).replace("-", "−");

  function start(root, data) {
    const facets = data.facets, first = facets.length + 1;
    // A row: address, facets by number, then either a score (value, low, high, null, best, n, direction, note) or a spread (mean, low, high, n, counts).
    class Cell {
      constructor(row) {
        const rest = row.slice(first);
        this.row = row; this.id = row[0]; this.spread = rest.length === 5; this.value = rest[0];
        Object.assign(this, this.spread ? {ends: [rest[1], rest[2]], n: rest[3], counts: rest[4]} : {low: rest[1], high: rest[2], none: rest[3], best: rest[4], n: rest[5], direction: rest[6], note: rest[7], ends: null});
      }
      // Of thousands only those are spelt out that are looked at.
      get told() { return this.names ??= Object.fromEntries(facets.map((facet, place) => [facet, data.names[place][this.row[place + 1]]])); }
    }
    const cells = data.cells.map(row => new Cell(row));
    const ends = new Map();
    for (const one of cells) if (!one.spread) {
      const now = ends.get(one.told.quantity) ?? [Infinity, -Infinity];
      for (const value of [one.value, one.low, one.high, one.none, one.best]) if (value !== null) { now[0] = Math.min(now[0], value); now[1] = Math.max(now[1], value); }
      ends.set(one.told.quantity, now);
    }
    const byId = new Map(cells.map(one => [one.id, one]));
    const label = one => facets.slice(1).map(facet => one.told[facet]).filter(Boolean).join(" · ");
    const sentence = one => `${one.told.quantity}, ${label(one)}: ${one.spread ? "mean " : ""}${shown(one.value)}` + (one.low === null || one.low === undefined ? "" : ` (${shown(one.low)} to ${shown(one.high)})`) + (one.none === null || one.none === undefined ? "" : `; random explanation ${shown(one.none)}`) + `; n ${one.n}`;
    const svg = one => {
      const [low, high] = one.ends ?? ends.get(one.told.quantity), span = high - low || 1, x = value => 6 + (WIDTH - 12) * (value - low) / span;
      const picture = draw("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": sentence(one)}), floor = HEIGHT - 14;
      if (one.spread) {
        const counts = [...one.counts].map(letter => HEIGHTS.indexOf(letter)), most = HEIGHTS.length - 1, wide = (WIDTH - 12) / counts.length;
        picture.append(draw("path", {class: "bar", d: counts.map((count, place) => count ? `M${(6 + place * wide).toFixed(1)} ${floor}v${(-(floor - 4) * count / most).toFixed(1)}h${(wide - .6).toFixed(1)}V${floor}z` : "").join("")}), draw("line", {class: "mean", x1: x(one.value), x2: x(one.value), y1: 2, y2: floor}));
      } else {
        const y = floor / 2 + 2;
        picture.append(draw("line", {class: "track", x1: 6, x2: WIDTH - 6, y1: y, y2: y}));
        if (one.low !== null && one.high !== null) picture.append(draw("line", {class: "interval", x1: x(one.low), x2: x(one.high), y1: y, y2: y}));
        if (one.none !== null) picture.append(draw("line", {class: "null", x1: x(one.none), x2: x(one.none), y1: y - 12, y2: y + 12}));
        if (one.value !== null) picture.append(draw("circle", {class: "dot", cx: x(one.value), cy: y, r: 4.5}));
      }
      picture.append(draw("text", {x: 6, y: HEIGHT - 2}, shown(low)), draw("text", {x: WIDTH - 6, y: HEIGHT - 2, "text-anchor": "end"}, shown(high)));
      return picture;
    };

    // Round numbers within two ends, three to six of them.
    const ticks = (low, high) => { const power = 10 ** Math.floor(Math.log10((high - low || 1) / 4)), size = [1, 2, 5, 10].map(one => one * power).find(one => (high - low || 1) / one <= 5), found = []; for (let place = Math.ceil(low / size - 1e-9); place * size <= high + 1e-9 * size; place++) found.push(place * size); return found; };
    // One quantity at one place: a row for each method, and one axis under all of them.
    const drawn = some => {
      const [low, high] = ends.get(some[0].told.quantity), span = high - low || 1, x = value => 12 + (ACROSS - 24) * (value - low) / span, floor = ROW * some.length, marks = ticks(low, high);
      const picture = draw("svg", {viewBox: `0 0 ${ACROSS} ${floor + 18}`, width: ACROSS, height: floor + 18, role: "img", "aria-label": some.map(sentence).join(". ")});
      for (const mark of marks) picture.append(draw("line", {class: "tick", x1: x(mark), x2: x(mark), y1: 0, y2: floor + 3}), draw("text", {x: x(mark), y: floor + 14, "text-anchor": "middle"}, shown(Number(mark.toPrecision(6)))));
      some.forEach((one, place) => {
        const y = ROW * (place + .5);
        if (one.low !== null && one.high !== null) picture.append(draw("line", {class: "interval", x1: x(one.low), x2: x(one.high), y1: y, y2: y}));
        if (one.none !== null) picture.append(draw("line", {class: "null", x1: x(one.none), x2: x(one.none), y1: y - 9, y2: y + 9}));
        if (one.value !== null) picture.append(draw("circle", {class: "dot", cx: x(one.value), cy: y, r: 4}));
      });
      return picture;
    };
    const place = one => one.spread ? one.id : facets.filter(facet => facet !== "method").map(facet => one.told[facet]).join("\u0000");
    const grouped = some => { const found = new Map(); for (const one of some) { const key = place(one); if (!found.has(key)) found.set(key, []); found.get(key).push(one); } return [...found.values()]; };

    const empty = {q: "", sort: "", page: 1, pins: "", cell: ""};
    for (const facet of facets) empty[facet] = "";
    const state = {...empty};
    const read = () => { Object.assign(state, empty); for (const [name, value] of new URLSearchParams(location.hash.slice(1))) if (name in empty) state[name] = value; state.page = Math.max(1, Math.trunc(Number(state.page)) || 1); };
    const address = changes => "#" + new URLSearchParams(Object.entries({...state, ...changes}).filter(([name, value]) => String(value) !== String(empty[name])));
    const pins = () => state.pins.split(",").filter(id => byId.has(id));

    const controls = make("form", {className: "controls", role: "search"}), inputs = {};
    controls.addEventListener("submit", event => event.preventDefault());
    const add = (name, text, input) => { inputs[name] = input; controls.append(make("label", {}, text, input)); };
    add("q", "search", make("input", {type: "search", size: 16}));
    facets.forEach((facet, place) => { const values = data.names[place].filter(Boolean); if (values.length > MENU) add(facet, facet, make("input", {type: "search", size: 8})); else if (values.length > 1) add(facet, facet, make("select", {}, make("option", {value: ""}, "all"), ...values.map(value => make("option", {value}, value)))); });
    add("sort", "order", make("select", {}, ...[["", "as stored"], ["largest", "largest value"], ["smallest", "smallest value"], ["widest", "widest interval"]].map(([value, text]) => make("option", {value}, text))));
    const told = make("p", {className: "count", role: "status"}), pinned = make("section", {className: "pinned", hidden: true, ariaLabel: "Pinned"}), alone = make("section", {className: "alone"}), grid = make("div", {className: "grid-of-plots"}), pager = make("nav", {className: "pager", ariaLabel: "Pages"});

    const pinOf = (one, where) => {
      const pin = make("input", {type: "checkbox", checked: pins().includes(one.id)});
      pin.addEventListener("change", () => { const now = pins(); go({pins: (pin.checked ? [...now, one.id] : now.filter(id => id !== one.id)).join(",")}); (root.querySelector(`[data-pin="${where}${one.id}"]`) ?? inputs.q).focus({preventScroll: true}); });
      pin.dataset.pin = where + one.id;
      return pin;
    };
    const card = (one, where) => make("div", {className: "plot"}, make("a", {href: address({cell: one.id})}, make("b", {}, one.told.quantity)), label(one), one.spread ? svg(one) : drawn([one]), make("div", {}, `${one.spread ? "mean " : ""}${shown(one.value)}`, one.low === null || one.low === undefined ? "" : ` (${shown(one.low)} to ${shown(one.high)})`), make("label", {}, pinOf(one, where), "pin"));
    const several = some => {
      const first = some[0], names = make("div", {className: "methods"}, ...some.map(one => { const pin = pinOf(one, "g"); pin.ariaLabel = `pin ${one.told.method}`; return make("span", {}, pin, make("a", {href: address({cell: one.id}), title: sentence(one)}, one.told.method || "all"), make("small", {}, shown(one.value))); }));
      return make("div", {className: "plot by-method"}, make("b", {}, first.told.quantity), facets.slice(1).filter(facet => facet !== "method").map(facet => first.told[facet]).filter(Boolean).join(" · "), make("div", {className: "beside"}, names, drawn(some)));
    };
    const table = some => {
      const columns = [...facets, "value", "low", "high", "random explanation", "n"];
      return make("div", {className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Pinned values"}, make("table", {}, make("thead", {}, make("tr", {}, ...columns.map(name => make("th", {scope: "col"}, name)))), make("tbody", {}, ...some.map(one => make("tr", {}, ...[...facets.map(facet => one.told[facet]), shown(one.value), shown(one.low ?? null), shown(one.high ?? null), shown(one.none ?? null), String(one.n)].map(text => make("td", {}, text)))))));
    };
    const chosen = () => {
      const wanted = state.q.trim().toLowerCase();
      const found = cells.filter(one => facets.every(facet => !state[facet] || one.told[facet] === state[facet]) && (!wanted || sentence(one).toLowerCase().includes(wanted)));
      const by = {largest: one => -one.value, smallest: one => one.value, widest: one => one.low === null || one.low === undefined ? 0 : one.low - one.high}[state.sort];
      return by ? found.sort((a, b) => by(a) - by(b)) : found;
    };
    const show = () => {
      for (const [name, input] of Object.entries(inputs)) if (input.value !== state[name]) input.value = state[name];
      const one = byId.get(state.cell), now = pins().map(id => byId.get(id));
      alone.replaceChildren();
      if (state.cell) {
        const all = make("button", {type: "button"}, "All plots");
        all.addEventListener("click", () => go({cell: ""}));
        alone.append(...(one ? [make("h2", {}, one.told.quantity), card(one, "a"), make("p", {}, sentence(one) + "."), ...(one.note ? [make("p", {className: "note"}, one.note)] : [])] : [make("p", {}, "There is no cell of this address here.")]), make("p", {}, all));
      }
      pinned.hidden = !now.length;
      const clear = make("button", {type: "button"}, "Unpin all");
      clear.addEventListener("click", () => { go({pins: ""}); inputs.q.focus(); });
      pinned.replaceChildren(make("h2", {}, "Pinned"), make("div", {className: "grid-of-plots"}, ...now.map(cell => card(cell, "p"))), table(now), make("p", {}, clear));
      const found = state.cell ? [] : chosen(), groups = grouped(found), pages = Math.max(1, Math.ceil(groups.length / PER_PAGE));
      state.page = Math.min(state.page, pages);
      told.textContent = state.cell ? "One cell, by its address." : `${found.length.toLocaleString("en")} of ${cells.length.toLocaleString("en")} scores in ${groups.length.toLocaleString("en")} ${groups.length === 1 ? "plot" : "plots"}.`;
      grid.replaceChildren(...groups.slice((state.page - 1) * PER_PAGE, state.page * PER_PAGE).map(some => some[0].spread ? card(some[0], "g") : several(some)));
      const step = (text, page, name) => { const button = make("button", {type: "button", disabled: page < 1 || page > pages}, text); button.dataset.go = name; button.addEventListener("click", () => { go({page}); root.scrollIntoView(); pager.querySelector(`[data-go=${name}]:enabled`)?.focus({preventScroll: true}); }); return button; };
      pager.replaceChildren(...(state.cell ? [] : [step("Previous", state.page - 1, "previous"), `page ${state.page} of ${pages.toLocaleString("en")}`, step("Next", state.page + 1, "next")]));
    };
    const go = changes => { Object.assign(state, changes); history.replaceState(null, "", address({}) === "#" ? location.pathname + location.search : address({})); show(); };
    controls.addEventListener("input", event => { const name = Object.keys(inputs).find(one => inputs[one] === event.target); if (name) go({[name]: event.target.value, page: 1, cell: ""}); });
    addEventListener("hashchange", () => { read(); show(); });
    read();
    root.replaceChildren(controls, pinned, told, alone, grid, pager);
    show();
    root.dataset.ready = performance.now().toFixed(0);  // milliseconds since the page was asked for
  }
  for (const root of document.querySelectorAll(".plots")) {
    fetch(root.dataset.url).then(answer => { if (!answer.ok) throw new Error(String(answer.status)); return answer.json(); }).then(data => start(root, data)).catch(error => { root.textContent = location.protocol === "file:" ? "A browser loads no data into a page that was opened as a file: serve the folder, for example with python -m http.server." : `The plots could not be loaded (${error.message}); reload the page.`; });
  }
})();
