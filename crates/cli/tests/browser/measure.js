// Looks at the pages in the frames of this document as a reader would, and writes what is wrong with them into it: a line for
// each fault, FRAME <tab> FAULT, and one for each page that was looked at, FRAME <tab> "looked at" <tab> how many texts.
// A test puts this into a copy of the pages; no page of the program holds a script.

// A letter may stand on the edge of its box: what overlaps by less than this, in pixels, is seen as apart.
const SLACK = 1;
// Of large and small text on its ground (WCAG 2.1, success criterion 1.4.3).
const CONTRAST = 4.5;

function luminance(colour) {
  const linear = colour.match(/[\d.]+/g).slice(0, 3).map(Number).map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

// The lines of text below an element: what they say, where they stand, and in what.
function texts(root) {
  const found = [];
  const walk = root.ownerDocument.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("title, style")) continue;
    const range = root.ownerDocument.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      found.push({ says: node.data.trim().slice(0, 40), parent, left: box.left, right: box.right, top: box.top, bottom: box.bottom });
    }
  }
  return found;
}

// Boxes of lines are higher than letters: a line of HTML may touch the next.
function tightened(text) {
  const less = (text.bottom - text.top) * 0.15;
  return { ...text, top: text.top + less, bottom: text.bottom - less };
}

function look(page, view) {
  const faults = [];
  const root = page.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    faults.push(`scrolls sideways: ${root.scrollWidth} pixels in ${root.clientWidth}`);
  }
  if (page.querySelector("script, link, img, iframe, object, embed, [href], [src]")) faults.push("is not complete in itself");
  const panels = [...page.querySelectorAll("header, section")];
  if (panels.length < 2) faults.push("has no panels");
  for (const panel of panels) {
    const around = panel.getBoundingClientRect();
    const inner = [...panel.querySelectorAll("svg, dl, p")].filter((one) => one.getBoundingClientRect().height > 8);
    if (inner.length === 0) faults.push(`${panel.id}: is empty`);
    for (const svg of panel.querySelectorAll("svg")) {
      const marks = [...svg.querySelectorAll("rect:not(.frame), path, polyline, circle, .frame")].filter((mark) => {
        const box = mark.getBoundingClientRect();
        return Math.max(box.width, box.height) >= 1;
      });
      if (marks.length === 0 || !svg.querySelector("text")) faults.push(`${panel.id}: is empty`);
      if (svg.innerHTML.includes("NaN")) faults.push(`${panel.id}: draws what is no number`);
    }
    for (const text of texts(panel)) {
      const box = text.parent.closest("svg")?.getBoundingClientRect() ?? around;
      const out = Math.max(box.left - text.left, text.right - box.right, box.top - text.top, text.bottom - box.bottom,
        around.left - text.left, text.right - around.right);
      if (out > SLACK + 1) faults.push(`${panel.id}: "${text.says}" stands ${out.toFixed(0)} pixels outside`);
    }
  }
  const all = texts(page.body).map(tightened);
  all.forEach((one, place) => {
    for (const other of all.slice(place + 1)) {
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (wide > SLACK && high > SLACK) faults.push(`"${one.says}" and "${other.says}" overlap`);
    }
  });
  for (const text of all) {
    const style = view.getComputedStyle(text.parent);
    const ground = view.getComputedStyle(text.parent.closest("section") ?? page.body).backgroundColor;
    const ink = text.parent.closest("svg") ? style.fill : style.color;
    if (contrast(ink, ground) < CONTRAST) faults.push(`"${text.says}" in ${ink} on ${ground} is hard to read`);
    const size = parseFloat(style.fontSize) * (text.parent.getScreenCTM?.()?.a ?? 1);
    if (size < 10) faults.push(`"${text.says}" is ${size.toFixed(1)} pixels high`);
  }
  const ground = luminance(view.getComputedStyle(page.body).backgroundColor);
  if (view.matchMedia("(prefers-color-scheme: dark)").matches !== ground < 0.2) faults.push("is not in the colours asked for");
  return { faults: [...new Set(faults)], texts: all.length };
}

addEventListener("load", () => {
  const lines = [];
  for (const frame of document.querySelectorAll("iframe")) {
    const { faults, texts } = look(frame.contentDocument, frame.contentWindow);
    faults.forEach((fault) => lines.push(`${frame.title}\t${fault}`));
    lines.push(`${frame.title}\tlooked at\t${texts}`);
  }
  document.body.textContent = lines.map((line) => line.replaceAll("\n", " ")).join("\n");
});
