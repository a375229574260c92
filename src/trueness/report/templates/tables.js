"use strict";
(() => {
  // Tables that sort by a click on a head, copies of tables as CSV and LaTeX, and figures that tell when they are wider than the page.
  const measure = () => { for (const one of document.querySelectorAll("figure")) one.classList.toggle("wide", one.scrollWidth > one.clientWidth + 1); };
  addEventListener("resize", measure); addEventListener("load", measure); addEventListener("drawn", measure);
  const numberOf = cell => { const given = cell?.dataset.sort ?? cell?.textContent.trim().replace("−", "-"); return given === "" || given === undefined || isNaN(given) ? null : Number(given); };
  const sort = (table, place, head) => {
    const down = head.getAttribute("aria-sort") !== "descending";
    for (const one of table.tHead.rows[0].cells) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const sign = down ? -1 : 1, rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => {
      const x = numberOf(a.cells[place]), y = numberOf(b.cells[place]);
      if (x !== null && y !== null) return sign * (x - y);
      if (x !== null || y !== null) return x === null ? 1 : -1;
      return -sign * (a.cells[place]?.textContent ?? "").localeCompare(b.cells[place]?.textContent ?? "");
    });
    table.tBodies[0].replaceChildren(...rows);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button"; button.append(...head.childNodes);
      head.replaceChildren(button); head.classList.add("sorts");
      button.addEventListener("click", () => sort(table, place, head));
    });
  }
  const cells = id => [...document.getElementById(id).rows].map(row => [...row.cells].map(cell => cell.textContent.trim()));
  const forms = {
    csv: rows => rows.map(row => row.map(text => '"' + text.replaceAll('"', '""') + '"').join(",")).join("\n"),
    latex: rows => "\\begin{tabular}{" + "l".repeat(rows[0].length) + "}\n\\toprule\n"
      + rows.map(row => row.map(text => text.replace(/[&%$#_{}]/g, "\\$&").replaceAll("−", "$-$").replaceAll("–", "--")).join(" & ") + " \\\\").join("\n").replace("\n", "\n\\midrule\n")
      + "\n\\bottomrule\n\\end{tabular}",
  };
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(forms[button.dataset.copy](cells(button.dataset.table)));
      button.textContent = "Copied";
    });
  }
})();
