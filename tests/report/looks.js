// What a person would see on the page, measured. Each function returns a list of complaints.
const visible = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });

// The part of a rectangle that the boxes around it let through.
function clipped(rect, element) {
  let { left, top, right, bottom } = rect;
  for (let at = element; at; at = at.parentElement) {
    const style = getComputedStyle(at);
    if (style.overflowX !== "visible" && at !== document.documentElement && at !== document.body) {
      const box = at.getBoundingClientRect();
      left = Math.max(left, box.left);
      right = Math.min(right, box.right);
      top = Math.max(top, box.top);
      bottom = Math.min(bottom, box.bottom);
    }
  }
  return { left, top, right, bottom };
}

function texts() {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("title, style, .told, .skip, nav") || !visible(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      found.push({ what: node.data.trim().slice(0, 40), element: parent, ...clipped(rect, parent) });
    }
  }
  return found.filter((each) => each.right - each.left > 1 && each.bottom - each.top > 1);
}

function marks() {
  return [...document.querySelectorAll("svg.glyph, use.glyph")]
    .filter(visible)
    .map((each) => ({ what: "a mark", element: each, ...clipped(each.getBoundingClientRect(), each.parentElement) }))
    .filter((each) => each.right - each.left > 1 && each.bottom - each.top > 1);
}

function overlaps() {
  const all = [...texts(), ...marks()].sort((a, b) => a.top - b.top);
  const found = [];
  for (let one = 0; one < all.length; one++) {
    for (let two = one + 1; two < all.length && all[two].top < all[one].bottom - 2; two++) {
      const [a, b] = [all[one], all[two]];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 2 && high > 3) found.push(`${a.what} / ${b.what} (${wide.toFixed(0)} x ${high.toFixed(0)})`);
    }
  }
  return found;
}

function outside() {
  const width = document.documentElement.clientWidth;
  const found = [];
  if (document.documentElement.scrollWidth > width) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  for (const each of texts()) {
    if (each.left < -1 || each.right > width + 1) found.push(`${each.what}: ${each.left} to ${each.right}`);
  }
  return found;
}

function light(colour) {
  const [red, green, blue] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const parts = (colour) => colour.match(/[\d.]+/g).map(Number);

function faint() {
  const found = new Set();
  for (const { what, element } of texts()) {
    const style = getComputedStyle(element);
    const ink = parts(element instanceof SVGElement ? style.fill : style.color);
    let at = element;
    let paper = [0, 0, 0, 0];
    while (at && (paper.length > 3 && paper[3] === 0)) {
      paper = parts(getComputedStyle(at).backgroundColor);
      at = at.parentElement;
    }
    const [a, b] = [light(ink.slice(0, 3)), light(paper.slice(0, 3))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) found.add(`${what}: ${contrast.toFixed(2)}`);
  }
  return [...found];
}

// Whatever can be focused must have a name.
function nameless() {
  return [...document.querySelectorAll("a[href], summary, [tabindex]")]
    .filter((each) => !(each.getAttribute("aria-label") || each.textContent).trim())
    .map((each) => each.outerHTML.slice(0, 80));
}
