"use strict";
// While something runs, the overview is fetched again; what comes back is put in without running anything.
(() => {
  const look = async () => {
    const now = document.getElementById("overview");
    let wait = 10000;
    if (!document.hidden && !now.contains(document.activeElement)) {
      try {
        const answer = await fetch(location.pathname, {cache: "no-store"});
        if (answer.ok) {
          const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("overview");
          const opened = [...now.querySelectorAll("details")].map(one => one.open);
          fresh.querySelectorAll("details").forEach((one, place) => { one.open = Boolean(opened[place]); });
          now.replaceChildren(...fresh.childNodes);
        }
      } catch { wait = 20000; }
    }
    setTimeout(look, now.querySelector(".progress.running, .unread") ? 2000 : wait);
  };
  setTimeout(look, document.querySelector(".progress.running, .unread") ? 2000 : 10000);
})();
