// code, tables and formulas that scroll can be scrolled by keys as well
addEventListener("load", () => {
  for (const element of document.querySelectorAll("pre, .table-wrapper, .formula")) {
    if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
  }
});

// landmarks of the theme have names, and the page of results has a heading
addEventListener("DOMContentLoaded", () => {
  const names = { ".sidebar-drawer": "Pages", ".toc-drawer": "On this page" };
  for (const [part, name] of Object.entries(names)) document.querySelector(part)?.setAttribute("aria-label", name);
  for (const icons of document.querySelectorAll(".content-icon-container")) {
    icons.setAttribute("role", "navigation");
    icons.setAttribute("aria-label", "This page");
  }
  const main = document.getElementById("furo-main-content");
  if (main && !document.querySelector("h1")) {
    const heading = document.createElement("h1");
    heading.textContent = "Search";
    main.prepend(heading);
  }
});
