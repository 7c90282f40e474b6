// Sets the chosen colour scheme before anything is painted, and when another one
// is chosen: dark.css counts where the system is dark, always, or never.
"use strict";
(() => {
  const dark = document.getElementById("dark"), system = dark.media;
  const show = () => {
    const kept = localStorage.getItem("waybill-theme");
    document.documentElement.dataset.theme = kept === "light" || kept === "dark" ? kept : "system";
    dark.media = { light: "not all", dark: "all" }[kept] || system;
  };
  show();
  document.addEventListener("waybill:theme", show);
})();
