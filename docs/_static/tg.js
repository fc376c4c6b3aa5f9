// code and tables that scroll can be scrolled by keys as well
addEventListener("load", () => {
  for (const element of document.querySelectorAll("pre, .table-wrapper")) {
    if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
  }
});
