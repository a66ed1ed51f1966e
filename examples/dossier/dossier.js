"use strict";

const tabs = [...document.querySelectorAll("[data-onglet]")];
const message = document.querySelector(".message");

function show(name) {
  for (const tab of tabs) {
    const current = tab.dataset.onglet === name;
    tab.setAttribute("aria-selected", String(current));
    document.getElementById(tab.dataset.onglet).hidden = !current;
  }
  message.hidden = true;
  history.replaceState(null, "", `#${name}`);
}

for (const tab of tabs) {
  tab.addEventListener("click", () => show(tab.dataset.onglet));
}

for (const button of document.querySelectorAll("[data-message]")) {
  button.addEventListener("click", () => {
    const state = document.getElementById(button.dataset.etat);
    if (state) {
      state.textContent = "Relu le 08/05/2026 à 09 h 42 par Dr Benoît LEFÈVRE";
      state.classList.add("fait");
    }
    message.textContent = button.dataset.message;
    message.hidden = false;
  });
}

const asked = location.hash.slice(1);
show(tabs.some((tab) => tab.dataset.onglet === asked) ? asked : "synthese");
