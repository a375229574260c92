"use strict";
(() => {
  const root = document.getElementById("rating");
  const make = (tag, given = {}, ...children) => {
    const one = document.createElement(tag);
    for (const [name, value] of Object.entries(given)) if (name in one) one[name] = value; else one.setAttribute(name, value);
    one.append(...children);
    return one;
  };
  const line = (words, marks) => make("p", {className: "words", dir: "auto"}, ...words.flatMap((word, place) => [make("span", {className: !marks || marks[place] === "0" ? "" : `mark m${marks[place]}`}, word), " "]));
  let keys = {};
  addEventListener("keydown", event => { if (!event.ctrlKey && !event.metaKey && !event.altKey && keys[event.key]) { event.preventDefault(); keys[event.key](); } });

  const ask = async (address, given) => {
    const answer = await fetch(address, given === undefined ? {cache: "no-store"} : {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(given)});
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.fault);
    return told;
  };
  const send = async (id, answer) => {
    keys = {};
    for (const button of root.querySelectorAll("button")) button.disabled = true;
    try { show(await ask("answers", {id, answer})); } catch (error) { fault(error); }
  };
  const fault = error => { root.replaceChildren(make("p", {role: "alert"}, `${error.message} Nothing was lost: reload the page.`)); };

  const choices = (id, all) => make("div", {className: "answers"}, ...all.map(([text, value], place) => {
    const button = make("button", {type: "button"}, text);
    button.addEventListener("click", () => send(id, value));
    keys[String(place + 1)] = () => button.click();
    return button;
  }));

  const bodies = {
    pairwise: item => [make("p", {}, "The model says ", make("b", {}, item.predicted), ". Which marks explain it better?"),
      make("div", {className: "options"}, ...item.marks.map((marks, place) => make("section", {className: "option"}, make("h2", {}, ["Left", "Right"][place]), line(item.words, marks)))),
      choices(item.id, [["Left is better", "left"], ["Right is better", "right"], ["Neither", "neither"]])],
    simulation: item => [make("div", {className: "options"}, make("section", {className: "option"}, line(item.words, item.marks[0]))),
      make("p", {}, "What does the model say of this text?"), choices(item.id, item.classes.map((name, place) => [name, place]))],
    highlight: item => {
      const chosen = new Set(), done = make("button", {type: "button", disabled: true}, "These words");
      const buttons = item.words.flatMap((word, place) => {
        const button = make("button", {type: "button", ariaPressed: "false"}, word);
        button.addEventListener("click", () => { if (!chosen.delete(place)) chosen.add(place); button.ariaPressed = String(chosen.has(place)); done.disabled = !chosen.size; });
        return [button, " "];
      });
      done.addEventListener("click", () => send(item.id, [...chosen]));
      return [make("p", {}, "The model says ", make("b", {}, item.predicted), ". Choose the words that speak for it."), make("p", {className: "words", dir: "auto"}, ...buttons), make("div", {className: "answers"}, done)];
    },
  };
  const show = told => {
    keys = {};
    const progress = make("progress", {max: told.total, value: told.done, ariaLabel: "Questions answered"});
    root.replaceChildren(make("p", {className: "note"}, `${told.done} of ${told.total} answered.`), progress,
      ...(told.item ? bodies[told.mode](told.item) : [make("p", {className: "question"}, "All questions are answered. Thank you.")]));
    root.dataset.done = told.done;
  };
  document.getElementById("another").addEventListener("click", async () => { try { show(await ask("another", {})); } catch (error) { fault(error); } });
  ask("next.json").then(show, fault);
})();
