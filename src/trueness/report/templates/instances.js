"use strict";
(() => {
  // The instance browser: texts and images as heat maps. All text enters the page as text, never as markup.
  const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcde", STEPS = 20, PER_PAGE = 25, WORDS = 300, MORE = 5000;
  const [PLACE, NUMBER, WORD, PREDICTED, GOLD, PROBABILITY, OTHER, SCORES, ALIKE, MEASURES, IMAGE] = Array(11).keys();
  const make = (tag, given = {}, ...children) => {
    const one = document.createElement(tag);
    for (const [name, value] of Object.entries(given)) if (name in one) one[name] = value; else one.setAttribute(name, value);
    one.append(...children);
    return one;
  };
  const count = (number, one) => `${number.toLocaleString("en")} ${number === 1 ? one : one + "s"}`;
  const levelOf = letter => letter === "." ? null : LETTERS.indexOf(letter) - STEPS;

  const ALIGNED = 200;

  function heat(words, letters, kind, options) {
    // The words of every row stand under one another, so each has a box; in long texts those without a colour have none: they stay light.
    const line = make("p", {className: "heat", dir: "auto"});
    const shown = Math.min(words.length, options.shown);
    let plain = "";
    for (let place = 0; place < shown; place++) {
      const level = letters ? levelOf(letters[place] ?? ".") : null;
      if (!level && shown <= ALIGNED) { line.append(make("span", {}, words[place]), " "); continue; }
      if (!level) { plain += words[place] + " "; continue; }
      if (plain) { line.append(plain); plain = ""; }
      const strength = Math.max(1, Math.round(Math.abs(level) / 2));
      const look = kind === "marks" ? (level > 0 ? "marked" : "decoy")
        : `${kind === "plain" || options.magnitudes ? "plain" : level > 0 ? "for" : "against"} l${strength}`;
      const share = `${level < 0 && !options.magnitudes ? "−" : ""}${Math.abs(level) * 5} %`;
      const span = make("span", {className: look, title: kind === "marks" ? (level > 0 ? "marked" : "a decoy") : `${share} of the strongest`}, words[place]);
      if (options.numbers && kind !== "marks") span.append(make("small", {}, share));
      line.append(span, " ");
    }
    line.append(plain);
    return line;
  }

  function overlay(image, letters, kind, options) {
    const [source, rows, columns] = image;
    const holder = make("span", {className: "picture-of"}, make("img", {src: `data:image/png;base64,${source}`, alt: "the image that was explained"}));
    if (!letters) return holder;
    const canvas = make("canvas", {width: columns, height: rows}), pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    [...letters].forEach((letter, place) => {
      const level = levelOf(letter);
      if (!level) return;
      pen.globalAlpha = Math.abs(level) / STEPS;
      pen.fillStyle = style.getPropertyValue(kind === "plain" || options.magnitudes ? "--for" : level > 0 ? "--for" : "--against");
      pen.fillRect(place % columns, Math.floor(place / columns), 1, 1);
    });
    holder.append(canvas);
    return holder;
  }

  function start(root, data) {
    const unit = data.rows.some(row => row[IMAGE]) ? "image" : "text";
    const kinds = data.methods.map((_, place) => data.marks[place] ? "marks" : data.signed[place] ? "signed" : "plain");
    const lower = [];
    const searched = number => lower[number] ??= (data.rows[number][WORD].replaceAll("\n", " ") + " " + data.rows[number][OTHER]).toLowerCase();
    const ids = data.rows.map(row => `${row[PLACE]}.${row[NUMBER]}`);
    const at = new Map(ids.map((id, number) => [id, number]));
    const pairAt = new Map(data.pairs.map(([a, b], place) => [`${a},${b}`, place]));
    const apart = number => {
      // Of the two chosen methods, else the mean of all pairs: 1 minus the correlation of magnitudes.
      const alike = data.rows[number][ALIKE], two = [state.left, state.right].map(Number).sort((a, b) => a - b).join(",");
      const some = state.left !== "" && state.right !== "" && pairAt.has(two) ? [alike[pairAt.get(two)]] : [...alike];
      const known = some.map(levelOf).filter(level => level !== null);
      return known.length ? 1 - known.reduce((sum, level) => sum + level / STEPS, 0) / known.length : null;
    };
    const orders = {"": null};
    if (data.pairs.length) Object.assign(orders, {"methods disagree most": [apart, -1], "methods agree most": [apart, 1]});
    data.measures.forEach((name, place) => { orders[`largest ${name}`] = [number => data.rows[number][MEASURES][place], -1]; orders[`smallest ${name}`] = [number => data.rows[number][MEASURES][place], 1]; });
    if (data.rows.some(row => row[PROBABILITY] !== null)) Object.assign(orders, {"surest prediction": [number => data.rows[number][PROBABILITY], -1], "least sure prediction": [number => data.rows[number][PROBABILITY], 1]});
    if (unit === "text") Object.assign(orders, {"longest": [number => data.rows[number][WORD].length, -1], "shortest": [number => data.rows[number][WORD].length, 1]});

    const fields = [...new Set(data.places.flatMap(place => Object.keys(place)))];
    const valuesOf = field => [...new Set(data.places.map(place => place[field] ?? ""))];
    const classes = column => [...new Set(data.rows.map(row => row[column]).filter(one => one !== null))];
    const empty = {q: "", predicted: "", gold: "", answer: "", left: "", right: "", sort: "", page: 1, text: "", numbers: "", magnitudes: ""};
    for (const field of fields) empty[field] = "";
    const state = {...empty};
    const read = () => {
      Object.assign(state, empty);
      for (const [name, value] of new URLSearchParams(location.hash.slice(1))) if (name in empty) state[name] = value;
      state.page = Math.max(1, Math.trunc(Number(state.page)) || 1);
      if (!(state.sort in orders)) state.sort = "";
    };
    const address = changes => "#" + new URLSearchParams(Object.entries({...state, ...changes}).filter(([name, value]) => String(value) !== String(empty[name])));

    const controls = make("form", {className: "controls", role: "search"}), inputs = {};
    controls.addEventListener("submit", event => event.preventDefault());
    const add = (name, label, input, beside) => { inputs[name] = input; controls.append(beside ? make("label", {className: "beside"}, input, label) : make("label", {}, label, input)); };
    const choice = (name, label, values, texts = values) => { if (values.length > 1) add(name, label, make("select", {}, ...values.map((value, place) => make("option", {value}, texts[place] || "all")))); };
    add("q", `search in ${unit}s`, make("input", {type: "search", size: 18}));
    for (const field of fields) choice(field, field, valuesOf(field).length > 1 ? ["", ...valuesOf(field)] : []);
    choice("predicted", "predicted", ["", ...classes(PREDICTED)]);
    choice("gold", "label", ["", ...classes(GOLD)]);
    if (classes(GOLD).length) choice("answer", "the model is", ["", "right", "wrong"]);
    const numbers = data.methods.map((_, place) => String(place));
    choice("left", "show", ["", ...numbers], ["all methods", ...data.methods]);
    choice("right", "beside it", ["", ...numbers], ["nothing", ...data.methods]);
    choice("sort", "order", Object.keys(orders), ["as stored", ...Object.keys(orders).slice(1)]);
    add("magnitudes", "magnitudes only", make("input", {type: "checkbox"}), true);
    add("numbers", "numbers", make("input", {type: "checkbox"}), true);
    const told = make("p", {className: "count", role: "status"}), list = make("div"), reach = new Map();
    const pager = make("nav", {className: "pager", ariaLabel: "Pages"});
    const legend = make("p", {className: "legend"},
      make("span", {}, make("i", {className: "for l7"}, "for"), " speaks for the predicted class"), make("span", {}, make("i", {className: "against l7"}, "against"), " speaks against it"),
      make("span", {}, make("i", {className: "plain l7"}, "plain"), " mattered; no sign"), make("span", {}, "The strongest word of a row has the full colour; steps of 5 %."));

    const chosen = () => {
      if (state.text) return at.has(state.text) ? [at.get(state.text)] : [];
      const wanted = state.q.trim().toLowerCase(), found = [];
      data.rows.forEach((row, number) => {
        const place = data.places[row[PLACE]];
        if (fields.some(field => state[field] && (place[field] ?? "") !== state[field])) return;
        if (state.predicted && row[PREDICTED] !== state.predicted || state.gold && row[GOLD] !== state.gold) return;
        if (state.answer && (row[GOLD] === null || (row[GOLD] === row[PREDICTED]) !== (state.answer === "right"))) return;
        if (wanted && !searched(number).includes(wanted)) return;
        found.push(number);
      });
      if (orders[state.sort]) {
        const [worth, sign] = orders[state.sort], keys = new Map(found.map(number => [number, worth(number)]));
        found.sort((a, b) => { const x = keys.get(a), y = keys.get(b); return x === null || y === null ? (x === null) - (y === null) : sign * (x - y) || a - b; });
      }
      return found;
    };

    const drawn = number => {
      const row = data.rows[number], words = row[WORD].split("\n"), id = ids[number];
      const options = {numbers: state.numbers, magnitudes: state.magnitudes, shown: reach.get(id) ?? WORDS};
      const one = place => row[SCORES][place] === null ? make("p", {className: "note"}, `${data.methods[place]} was not asked about this ${unit}.`)
        : (row[IMAGE] ? overlay : heat)(row[IMAGE] ?? words, row[SCORES][place][0], kinds[place], options);
      const titled = place => make("div", {}, make("h4", {className: "about"}, data.methods[place]), one(place));
      const left = state.left === "" ? null : Number(state.left), right = state.right === "" ? null : Number(state.right);
      const body = left !== null || right !== null
        ? make("div", {className: "sides"}, ...[left, right].filter(place => place !== null && place in data.methods).map(titled))
        : make("dl", {className: "rows"}, ...data.methods.flatMap((name, place) => row[SCORES][place] === null ? [] : [make("dt", {}, name), make("dd", {}, one(place))]));
      const where = Object.values(data.places[row[PLACE]]).join(", ");
      const measured = data.measures.flatMap((name, place) => row[MEASURES][place] === null ? [] : [`${name} ${row[MEASURES][place]}`]);
      const said = [`predicted ${row[PREDICTED]}` + (row[PROBABILITY] === null ? "" : ` (${row[PROBABILITY].toFixed(3)})`), row[GOLD] === null ? "no label" : `label ${row[GOLD]}${row[GOLD] === row[PREDICTED] ? "" : ": the model is wrong"}`, ...measured];
      const article = make("article", {className: "instance"}, make("h3", {}, make("a", {href: address({...empty, left: state.left, right: state.right, text: id})}, `${unit} ${row[NUMBER]}`), where ? ` · ${where}` : ""), make("p", {className: "about"}, said.join("; ") + "."));
      if (row[OTHER]) article.append(make("p", {className: "about"}, "Second text: " + row[OTHER].slice(0, 2000)));
      article.append(body);
      const rest = row[IMAGE] ? 0 : words.length - options.shown;
      if (rest > 0) {
        // In steps: a hundred thousand words at once would stop the page for seconds.
        const more = make("button", {type: "button"}, `Show ${Math.min(MORE, rest).toLocaleString("en")} more of ${count(rest, "word")}`);
        more.addEventListener("click", () => { reach.set(id, options.shown + MORE); const grown = drawn(number); article.replaceWith(grown); grown.querySelector("button")?.focus({preventScroll: true}); });
        article.append(make("p", {}, more));
      }
      return article;
    };

    const show = () => {
      for (const [name, input] of Object.entries(inputs)) if (input.type === "checkbox") input.checked = Boolean(state[name]); else if (input.value !== state[name]) input.value = state[name];
      const found = chosen(), pages = Math.max(1, Math.ceil(found.length / PER_PAGE));
      state.page = Math.min(state.page, pages);
      const missing = data.total > data.rows.length ? ` The first ${data.rows.length.toLocaleString("en")} of ${data.total.toLocaleString("en")} fit into this page.` : "";
      told.textContent = (state.text ? (found.length ? `One ${unit}, by its address.` : `There is no ${unit} of this address here.`) : `${found.length.toLocaleString("en")} of ${count(data.rows.length, unit)}.`) + missing;
      list.replaceChildren(...found.slice((state.page - 1) * PER_PAGE, state.page * PER_PAGE).map(drawn));
      const step = (label, page, name) => { const button = make("button", {type: "button", disabled: page < 1 || page > pages}, label); button.dataset.go = name; button.addEventListener("click", () => { go({page}); root.scrollIntoView(); pager.querySelector(`[data-go=${name}]:enabled`)?.focus({preventScroll: true}); }); return button; };
      const all = make("button", {type: "button"}, `All ${unit}s`);
      all.addEventListener("click", () => go({text: ""}));
      pager.replaceChildren(...(state.text ? [all] : [step("Previous", state.page - 1, "previous"), `page ${state.page} of ${pages.toLocaleString("en")}`, step("Next", state.page + 1, "next")]));
    };
    const go = changes => { Object.assign(state, changes); history.replaceState(null, "", address({}) === "#" ? location.pathname + location.search : address({})); show(); };
    controls.addEventListener("input", event => {
      const name = Object.keys(inputs).find(one => inputs[one] === event.target);
      if (name) go({[name]: event.target.type === "checkbox" ? (event.target.checked ? "1" : "") : event.target.value, page: 1, text: ""});
    });
    addEventListener("hashchange", () => { read(); show(); });
    read();
    root.replaceChildren(controls, legend, told, list, pager);
    show();
    root.dataset.ready = performance.now().toFixed(0);  // milliseconds since the page was asked for
  }

  for (const root of document.querySelectorAll(".instances")) {
    const embedded = root.dataset.from && document.getElementById(root.dataset.from);
    if (embedded) start(root, JSON.parse(embedded.textContent));
    else fetch(root.dataset.url).then(answer => { if (!answer.ok) throw new Error(String(answer.status)); return answer.json(); }).then(data => start(root, data)).catch(error => { root.textContent = location.protocol === "file:" ? "A browser loads no data into a page that was opened as a file: serve the folder, for example with python -m http.server." : `The texts could not be loaded (${error.message}); reload the page.`; });
  }
})();
