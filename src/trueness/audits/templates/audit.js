(() => {
  const all = [...document.querySelectorAll("details")];
  const reveal = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) { target.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", reveal);
  for (const link of document.querySelectorAll('a[href^="#why-"]')) link.addEventListener("click", () => setTimeout(reveal));
  reveal();
  const button = document.getElementById("open-all");
  if (button) {
    const why = all.filter(one => one.classList.contains("why"));
    button.hidden = false;
    button.addEventListener("click", () => {
      const open = !why.every(one => one.open);
      for (const one of why) one.open = open;
      button.textContent = open ? "Close all" : "Open all";
    });
  }
  let closed = [];
  addEventListener("beforeprint", () => { closed = all.filter(one => !one.open); for (const one of closed) one.open = true; });
  addEventListener("afterprint", () => { for (const one of closed) one.open = false; });
})();
