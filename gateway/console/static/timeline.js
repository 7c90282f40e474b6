// Draws an account's timeline out of the table beside it: what was left of each
// window as lines, every event as a mark. The pointer and the arrow keys pick
// events; the table says the same without a drawing.
"use strict";
(() => {
  const lanes = ["operator", "account", "trial", "answer", "reading"];
  const strokes = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5"];
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const read = () => ({
    marks: [...document.querySelectorAll("#marks tbody tr")].map((row) => ({
      at: Number(row.dataset.at) / 1000, lane: row.dataset.lane, tone: row.dataset.tone, row,
      link: row.querySelector("a"), type: row.querySelector("code").textContent,
      about: row.querySelector("[data-label=about]").textContent,
    })),
    series: [...document.querySelectorAll("data.series")].map((d) => ({
      name: d.dataset.name,
      points: d.dataset.points.trim().split(/\s+/).map((p) => p.split(":").map(Number)).map(([at, left]) => [at / 1000, left]),
    })),
    spells: [...document.querySelectorAll("#spells tbody tr")].map((d) => ({
      from: Number(d.dataset.from) / 1000, to: Number(d.dataset.to) / 1000, tone: d.dataset.tone, override: "override" in d.dataset,
    })),
  });

  // align puts all series on one axis of times; a value holds until the next.
  const align = (series, from, to) => {
    const times = [...new Set([from, to, ...series.flatMap((s) => s.points.map((p) => p[0]))])].sort((a, b) => a - b);
    const rows = series.map((s) => {
      let i = 0, last = null;
      return times.map((t) => {
        while (i < s.points.length && s.points[i][0] <= t) last = s.points[i++][1];
        return last;
      });
    });
    return [times, ...rows];
  };

  let plot, watch;
  const draw = () => {
    const box = document.getElementById("chart");
    if (!box || typeof uPlot === "undefined") return;
    const { marks, series, spells } = read();
    const from = Number(box.dataset.from) / 1000, to = Number(box.dataset.to) / 1000;
    box.hidden = false;
    if (plot) plot.destroy();
    if (watch) watch.disconnect();
    const gap = 14, laneHeight = 16, bandHeight = spells.length ? 14 : 0, foot = gap + lanes.length * laneHeight + bandHeight;
    const middle = (lane) => gap + (lane + 0.5) * laneHeight; // below the scale's zero
    let picked = -1;

    const paint = (u) => {
      const c = u.ctx, px = devicePixelRatio, { left, top, width, height } = u.bbox;
      const bottom = top + height, y0 = bottom - foot * px;
      c.save();
      c.beginPath(); c.rect(left, top, width, height); c.clip();
      for (const s of spells) {
        const x1 = u.valToPos(s.from, "x", true), x2 = u.valToPos(s.to, "x", true);
        if (s.override) {
          c.fillStyle = css("--good");
          c.fillRect(x1, y0 - 6 * px, Math.max(px, x2 - x1), 3 * px);
          continue;
        }
        c.fillStyle = css(`--${s.tone}`);
        if (s.tone !== "good") { c.globalAlpha = 0.12; c.fillRect(x1, top, x2 - x1, height); }
        c.globalAlpha = 1; c.fillRect(x1, bottom - bandHeight * px, Math.max(px, x2 - x1), bandHeight * px);
      }
      lanes.forEach((lane, i) => {
        const y = y0 + middle(i) * px;
        c.strokeStyle = css("--rule"); c.lineWidth = px;
        c.beginPath(); c.moveTo(left, y); c.lineTo(left + width, y); c.stroke();
      });
      marks.forEach((m, i) => {
        const x = u.valToPos(m.at, "x", true), y = y0 + middle(lanes.indexOf(m.lane)) * px;
        c.fillStyle = css(`--${m.tone}`);
        c.beginPath(); c.arc(x, y, (i === picked ? 6 : 3.5) * px, 0, 7); c.fill();
        if (i === picked) { c.strokeStyle = css("--ink"); c.lineWidth = 2 * px; c.stroke(); }
      });
      c.restore();
      // The lanes' names stand beside the drawing, under the scale.
      c.save();
      c.font = `${11 * px}px ${css("--font") || "sans-serif"}`;
      c.textBaseline = "middle"; c.textAlign = "right"; c.fillStyle = css("--soft");
      lanes.forEach((lane, i) => c.fillText(lane, left - 6 * px, y0 + middle(i) * px));
      c.restore();
    };

    const pick = (i) => {
      if (i < 0 || i >= marks.length || i === picked) return;
      picked = i;
      const m = marks[i], say = document.getElementById("picked");
      const link = document.createElement("a");
      link.href = m.link.href; link.textContent = `event ${m.link.textContent}`; link.id = "picked-event";
      const what = document.createElement("span");
      what.textContent = ` ${m.row.querySelector("time").textContent}: ${m.type}, ${m.about}`;
      say.replaceChildren(link, what);
      for (const other of document.querySelectorAll("#marks tr.picked")) other.classList.remove("picked");
      m.row.classList.add("picked");
      plot.redraw(false);
    };
    const nearest = (u, x, y) => {
      let best = -1, least = 24 * 24;
      const y0 = u.bbox.height / devicePixelRatio - foot;
      marks.forEach((m, i) => {
        const dx = u.valToPos(m.at, "x") - x, dy = y0 + middle(lanes.indexOf(m.lane)) - y;
        const d = dx * dx + dy * dy / 4;
        if (d < least) { least = d; best = i; }
      });
      return best;
    };

    const font = `12px ${css("--font")}`;
    const clocks = (u, all) => all.map((t, i) => {
      const iso = new Date(t * 1000).toISOString(), day = iso.slice(0, 10);
      const before = i > 0 && new Date(all[i - 1] * 1000).toISOString().slice(0, 10);
      const clock = iso.slice(11, all.length > 1 && all[1] - all[0] < 60 ? 19 : 16);
      return day === before ? clock : `${clock}\n${day}`;
    });
    const wide = () => Math.max(240, box.clientWidth);
    const size = () => ({ width: wide(), height: (series.length ? 180 : 64) + foot });
    plot = new uPlot({
      ...size(),
      tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), "Etc/UTC"),
      cursor: { drag: { x: false, y: false }, points: { show: false } },
      legend: { show: series.length > 0, live: false },
      scales: {
        x: { time: true, range: [from, to] },
        // Below zero is room for the lanes, as much as they are high.
        y: { range: () => { const inner = size().height - 50; return [-106 * foot / Math.max(1, inner - foot), 106]; } },
      },
      axes: [
        { stroke: css("--soft"), grid: { stroke: css("--rule"), width: 1 }, ticks: { stroke: css("--rule"), width: 1 }, values: clocks, font, space: 80 },
        { stroke: css("--soft"), grid: { stroke: css("--rule"), width: 1 }, ticks: { stroke: css("--rule"), width: 1 }, size: 58, font,
          splits: () => series.length ? [0, 25, 50, 75, 100] : [], values: (u, all) => all.map((v) => `${v} %`) },
      ],
      series: [{ label: "UTC" }, ...series.map((s, i) => ({
        label: `${s.name} left`, stroke: css(strokes[i % strokes.length]), width: 2, paths: uPlot.paths.stepped({ align: 1 }),
        points: { show: false }, dash: i >= strokes.length ? [4, 3] : undefined,
      }))],
      hooks: {
        draw: [paint],
        setCursor: [(u) => { if (u.cursor.left >= 0) pick(nearest(u, u.cursor.left, u.cursor.top)); }],
        ready: [(u) => u.over.addEventListener("click", () => { if (picked >= 0) location.href = marks[picked].link.href; })],
      },
    }, align(series, from, to), box);

    box.onkeydown = (e) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
      if (step) { pick(picked < 0 ? (step > 0 ? 0 : marks.length - 1) : picked + step); e.preventDefault(); }
      if (e.key === "Home") { pick(0); e.preventDefault(); }
      if (e.key === "End") { pick(marks.length - 1); e.preventDefault(); }
      if (e.key === "Enter" && picked >= 0) location.href = marks[picked].link.href;
    };
    watch = new ResizeObserver(() => { if (plot && Math.abs(plot.width - wide()) > 1) plot.setSize(size()); });
    watch.observe(box);
  };

  document.addEventListener("htmx:afterSettle", (e) => { if (e.detail.target && e.detail.target.id === "timeline") draw(); });
  document.addEventListener("waybill:theme", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
