// What a page says of itself: where its labels are, what else is taken, and where the pointer is. NUMBER is its own.
const rect = (r) => [r.left, r.top, r.right, r.bottom];
const textRect = (node) => {
  const text = document.createRange();
  text.selectNodeContents(node);
  return rect(text.getBoundingClientRect());
};
const padded = (node) => {
  const control = node.closest("button, nav > span");
  return control ? rect(control.getBoundingClientRect()) : textRect(node);
};
const seen = (node) => {
  const [l, t, r, b] = textRect(node);
  if (l < 2 || t < 2 || r > innerWidth - 2 || b > innerHeight - 2) return false;
  return [[l + 2, t + 3], [r - 2, b - 3], [(l + r) / 2, (t + b) / 2]].every(([x, y]) => {
    const hit = document.elementFromPoint(x, y);
    return hit && (node === hit || node.contains(hit) || hit.contains(node));
  });
};
const report = () => {
  const labels = [...document.querySelectorAll("[data-t]")].filter(seen).map((node) => ({
    kind: node.dataset.t, text: node.textContent.trim(), box: textRect(node),
    padded: padded(node) }));
  const foreign = [...document.querySelectorAll("[data-f]")].map((node) => ({
    kind: node.dataset.f, text: node.textContent.trim(), box: rect(node.getBoundingClientRect()) }));
  const taken = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) if (walk.currentNode.textContent.trim() && !/STYLE|SCRIPT/.test(walk.currentNode.parentNode.tagName))
    taken.push(textRect(walk.currentNode));
  for (const node of document.querySelectorAll("input, svg, button, .field, .at, .glyph")) taken.push(rect(node.getBoundingClientRect()));
  const inside = document.querySelector(".inside");
  const area = inside ? rect(inside.getBoundingClientRect()) : [0, 0, innerWidth, innerHeight];
  return {labels, foreign, taken, area, size: [innerWidth, innerHeight], ratio: devicePixelRatio, number: NUMBER};
};
const post = (path, what) => fetch(path, {method: "POST", body: JSON.stringify(what)});
addEventListener("mousemove", (e) => post("/pointer", {x: e.clientX, y: e.clientY, ratio: devicePixelRatio}));
addEventListener("load", () => document.fonts.ready.then(() => requestAnimationFrame(() => requestAnimationFrame(async () => {
  await post("/seen", report());
  const next = await (await fetch("/next?" + NUMBER)).json();
  location.replace(next.path);
}))));
