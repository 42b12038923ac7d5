"use strict";
// Sections that have every word stay; one whose title is found comes with all of its rows.
const search = document.getElementById("search");
const said = document.querySelector(".search output");
const sections = [...document.querySelectorAll("main section")].map((section) => ({
  section,
  name: section.id.toLowerCase(),
  rows: [...section.querySelectorAll("tbody tr")].map((row) => ({ row, text: row.textContent.toLowerCase() })),
}));

function find() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const { section, name, rows } of sections) {
    const rest = words.filter((word) => !name.includes(word));
    const fits = ({ text }) => rest.every((word) => text.includes(word));
    const shown = rest.length === 0 || rows.some(fits);
    section.hidden = !shown;
    found += shown;
    for (const row of rows) row.row.hidden = !fits(row);
    for (const part of section.querySelectorAll("div")) part.hidden = !part.querySelector("tbody tr:not([hidden])");
  }
  said.textContent = words.length ? `${found} of ${sections.length} sections` : "";
  history.replaceState(null, "", words.length ? `?q=${encodeURIComponent(search.value)}` : location.pathname);
}

search.value = new URLSearchParams(location.search).get("q") ?? "";
search.addEventListener("input", find);
addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search) {
    event.preventDefault();
    search.focus();
  }
});
if (search.value) find();
