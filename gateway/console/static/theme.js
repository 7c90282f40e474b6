// Sets the chosen colour scheme before anything is painted.
"use strict";
(() => {
  const kept = localStorage.getItem("waybill-theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
})();
