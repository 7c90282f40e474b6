// What the pages do beyond links and forms: the colour scheme, counting down,
// the time machine's slider, and pausing what follows the ledger.
"use strict";
(() => {
  const root = document.documentElement;

  // Tables that become cards on a phone keep saying that they are tables.
  const roles = { table: "table", thead: "rowgroup", tbody: "rowgroup", tr: "row", td: "cell" };
  const keepRoles = (within) => {
    for (const table of within.querySelectorAll("table.stack")) {
      table.setAttribute("role", "table");
      for (const [tag, role] of Object.entries(roles)) for (const e of table.querySelectorAll(tag)) e.setAttribute("role", role);
      for (const e of table.querySelectorAll("th")) e.setAttribute("role", e.scope === "row" ? "rowheader" : "columnheader");
    }
  };
  keepRoles(document);
  document.addEventListener("htmx:afterSettle", () => keepRoles(document));

  // Colour scheme: as the system has it, light, dark.
  const themes = ["system", "light", "dark"];
  const theme = document.querySelector("[data-theme-switch]");
  const showTheme = () => { theme.querySelector("[data-theme-name]").textContent = root.dataset.theme; };
  if (theme) {
    theme.hidden = false;
    showTheme();
    theme.addEventListener("click", () => {
      localStorage.setItem("waybill-theme", themes[(themes.indexOf(root.dataset.theme) + 1) % themes.length]);
      document.dispatchEvent(new Event("waybill:theme"));
      showTheme();
    });
  }

  // A duration in two units at most, as the server words it.
  const units = [["days", 86400, "h", 3600], ["h", 3600, "min", 60], ["min", 60, "s", 1]];
  const span = (s) => {
    if (s < 1) return "less than 1 s";
    for (const [big, size, small, part] of units) {
      if (s < size || big === "days" && s < 2 * 86400) continue;
      const n = Math.floor(s / size), rest = Math.floor(s % size / part);
      return rest ? `${n} ${big} ${rest} ${small}` : `${n} ${big}`;
    }
    return `${Math.floor(s)} s`;
  };

  // Countdowns run by the server's clock, and stand still in the past.
  const slider = document.getElementById("at-slider");
  const past = document.body.dataset.at;
  const drift = slider ? Number(slider.dataset.now) - Date.now() : 0;
  const tick = () => {
    const now = Date.now() + drift;
    for (const t of document.querySelectorAll("time[data-countdown]")) {
      const s = (Date.parse(t.dateTime) - now) / 1000;
      const words = s > 0 ? `in ${span(s)}` : `${span(-s)} ago`;
      if (t.textContent !== words) t.textContent = words;
    }
  };
  if (!past) setInterval(tick, 1000);

  // The slider: the ledger's beginning on the left, now on the right.
  if (slider) {
    const first = Number(slider.dataset.first), now = Number(slider.dataset.now);
    const field = document.getElementById("at"), words = document.getElementById("at-words");
    const full = (ms) => new Date(ms).toUTCString().replace("GMT", "UTC");
    const at = () => first + (now - first) * Number(slider.value) / 1000;
    slider.hidden = false;
    slider.value = slider.dataset.at ? Math.round(1000 * (Number(slider.dataset.at) - first) / Math.max(1, now - first)) : 1000;
    slider.setAttribute("aria-valuetext", words.textContent);
    slider.addEventListener("input", () => {
      const live = slider.value === "1000";
      field.value = live ? "" : new Date(at()).toISOString().slice(0, 19).replace("T", " ");
      words.textContent = live ? "now" : full(at());
      slider.setAttribute("aria-valuetext", words.textContent);
    });
    let due;
    slider.addEventListener("change", () => { clearTimeout(due); due = setTimeout(() => slider.form.requestSubmit(), 400); });
  }
  const time = document.getElementById("time");
  if (time) time.addEventListener("submit", () => { const f = document.getElementById("at"); if (!f.value) f.disabled = true; });

  // Following the ledger: not in a hidden page, not while it is paused, not
  // under a form that somebody is filling in.
  const live = document.querySelector("[data-live-switch]");
  let paused = false;
  if (live) {
    live.hidden = false;
    live.addEventListener("click", () => {
      paused = !paused;
      live.setAttribute("aria-pressed", String(paused));
      live.textContent = paused ? "Go on" : "Pause";
    });
  }
  document.addEventListener("htmx:beforeRequest", (e) => {
    const part = e.detail.elt;
    if (part.id !== "live") return;
    const busy = part.contains(document.activeElement) && document.activeElement.matches("input, select, textarea");
    const marked = !getSelection().isCollapsed && part.contains(getSelection().anchorNode);
    if (paused || document.hidden || busy || marked) e.preventDefault();
  });
})();
