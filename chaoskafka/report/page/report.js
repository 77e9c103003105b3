// Zooms the timelines: buttons, Ctrl and the wheel, or a stretch marked with the mouse. All is readable without it.
"use strict";
for (const timeline of document.querySelectorAll(".tl")) {
  const scroll = timeline.querySelector(".tl-scroll");
  const plot = timeline.querySelector(".tl-plot");
  const told = timeline.querySelector(".tl-at");
  const begin = Number(timeline.dataset.begin), end = Number(timeline.dataset.end);
  const ZOOM_MAX = 60;
  let zoom = 1;

  const add = (name) => {
    const made = document.createElement("div");
    made.className = name;
    scroll.append(made);
    return made;
  };
  const cursor = add("tl-cursor"), picked = add("tl-picked");

  // The drawing's width when nothing is zoomed: on a narrow screen more than its frame's.
  const base = () => Math.max(scroll.clientWidth, parseFloat(getComputedStyle(plot).minWidth) || 0);

  // Shows the part of the run from `share` of its width on, `wanted` times as wide.
  const show = (wanted, share) => {
    zoom = Math.min(ZOOM_MAX, Math.max(1, wanted));
    plot.style.width = zoom === 1 ? "" : zoom * base() + "px";
    const level = zoom >= 20 ? 3 : zoom >= 5 ? 2 : zoom >= 2 ? 1 : 0;
    plot.classList.remove("z1", "z2", "z3");
    if (level) plot.classList.add("z" + level);
    scroll.scrollLeft = share * plot.clientWidth;
  };
  const shareAt = (event) => (event.clientX - plot.getBoundingClientRect().left) / plot.clientWidth;
  const around = (wanted, share, place) => {
    const kept = Math.min(ZOOM_MAX, Math.max(1, wanted));
    show(kept, share - place * scroll.clientWidth / (kept * base()));
  };
  const middle = () => (scroll.scrollLeft + scroll.clientWidth / 2) / plot.clientWidth;

  timeline.querySelector(".tl-buttons").hidden = false;
  timeline.addEventListener("click", (event) => {
    const button = event.target.closest("[data-zoom]");
    if (!button) return;
    if (button.dataset.zoom === "in") around(zoom * 2, middle(), 0.5);
    if (button.dataset.zoom === "out") around(zoom / 2, middle(), 0.5);
    if (button.dataset.zoom === "all") show(1, 0);
    if (button.dataset.zoom === "fault") {
      const width = Math.max(1, Number(button.dataset.width)) * 1.5;
      show(100 / width * scroll.clientWidth / base(), (Number(button.dataset.lo) - width / 6) / 100);
    }
  });
  scroll.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const place = (event.clientX - scroll.getBoundingClientRect().left) / scroll.clientWidth;
    around(zoom * (event.deltaY < 0 ? 1.25 : 0.8), shareAt(event), place);
  }, { passive: false });

  let from = null;
  plot.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button === 0) from = shareAt(event);
  });
  plot.addEventListener("pointermove", (event) => {
    const share = shareAt(event);
    told.textContent = (begin + share * (end - begin)).toFixed(2) + " s";
    cursor.style.display = "block";
    cursor.style.left = share * plot.clientWidth + "px";
    if (from === null) return;
    picked.style.display = "block";
    picked.style.left = Math.min(from, share) * plot.clientWidth + "px";
    picked.style.width = Math.abs(share - from) * plot.clientWidth + "px";
  });
  plot.addEventListener("pointerleave", () => { cursor.style.display = "none"; told.textContent = ""; });
  addEventListener("pointerup", (event) => {
    if (from === null) return;
    const share = Math.min(1, Math.max(0, shareAt(event))), start = from;
    from = null;
    picked.style.display = "none";
    const width = Math.abs(share - start);
    if (width * plot.clientWidth > 8) show(scroll.clientWidth / (base() * width), Math.min(start, share));
  });
}
